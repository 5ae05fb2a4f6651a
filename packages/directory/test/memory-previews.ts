/** Previews that keep what they are given in memory, and answer the management contract as an application does. */
import { PlatformError, problemDocument } from '@freehold/contracts';
import type { PreviewRuntime } from '../src/index.ts';

export interface MemoryPreviews extends PreviewRuntime {
  /** Preview → its paths that were asked, oldest first. One that ended is not here. */
  readonly running: ReadonlyMap<string, readonly string[]>;
  /** Preview → the bytes of the copy that it was given to mask. */
  readonly copies: ReadonlyMap<string, string>;
  /** The columns that it finds in every copy. */
  unmasked: readonly string[];
  /** Whether the owner's seat of every preview is claimed. */
  isClaimed: boolean;
  /** A hook before it ends one, or answers this path: it can wait, or throw. */
  before: (what: string) => Promise<void>;
}

const AT = '2026-12-01T00:00:00.000Z';

export function makeMemoryPreviews(): MemoryPreviews {
  const running = new Map<string, string[]>();
  const copies = new Map<string, string>();
  const previews: MemoryPreviews = {
    running,
    copies,
    unmasked: [],
    isClaimed: false,
    before: async () => undefined,
    mask: async ({ id }, copy) => {
      running.set(id, ['mask']);
      copies.set(id, await new Response(copy).text());
      const body = new Response(`masked ${copies.get(id)}`).body as ReadableStream<Uint8Array>;
      return { body, masked: ['people.name'], unmasked: previews.unmasked };
    },
    manage: async ({ id, scope }, request) => {
      const path = new URL(request.url).pathname.slice('/internal/'.length);
      running.set(id, [...(running.get(id) ?? []), path]);
      await previews.before(path);
      switch (path) {
        case 'provision':
          return Response.json({ scopeId: scope, status: 'provisioned', ownerSeat: 'pending' });
        case 'restore':
          await request.text();
          return Response.json({ format: 'ndjson', tables: 2, rows: 5, undo: null });
        case 'owner-claim': {
          const { origin } = (await request.json()) as { origin: string };
          if (previews.isClaimed)
            return problemDocument(
              new PlatformError('conflict', 'The seat is claimed.', { reason: 'seat_claimed' }),
            );
          return Response.json({ url: `${origin}/?claim=token`, expiresAt: AT }, { status: 201 });
        }
        default:
          return new Response(null, { status: 404 });
      }
    },
    end: async ({ id }) => {
      await previews.before(`end ${id}`);
      running.delete(id);
      copies.delete(id);
    },
  };
  return previews;
}
