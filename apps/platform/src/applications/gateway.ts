/** How the platform reaches the verticals of its own process: past the router, which shows their management to nobody. */
import type { VerticalGateway } from '@freehold/directory';
import type { CoLocatedVertical } from './verticals.ts';

export function makeGateway(
  verticals: ReadonlyMap<string, Pick<CoLocatedVertical, 'fetch' | 'host' | 'platformSecret'>>,
): VerticalGateway {
  return {
    bound: (slug) => {
      const vertical = verticals.get(slug);
      return vertical
        ? {
            platformSecret: vertical.platformSecret,
            fetch: async (request) => vertical.fetch(request, { node: null, clientAddress: null }),
          }
        : null;
    },
    // For what the contract has no route for: snapshots, and the erasure of a person.
    local: (slug) => verticals.get(slug)?.host ?? null,
  };
}
