/** Looks up what answers for a vertical: a bound worker, a co-located host, or neither (spec 7.5). */
import { PlatformError } from '@freehold/contracts';
import type { BoundVertical, VerticalGateway } from './gateway.ts';

/** Whether a worker or a host answers for a vertical. */
export function isKnownVertical(gateway: VerticalGateway, vertical: string): boolean {
  return gateway.bound(vertical) !== null || gateway.local(vertical) !== null;
}

/**
 * The worker of a vertical.
 * @param lacking why a host will not do, as the end of a sentence: "keeps no owner seat".
 * @throws PlatformError `unsupported` (501) with the diagnosis: reason `no_vertical` or `no_worker`.
 */
export function requireBound(gateway: VerticalGateway, vertical: string, lacking: string): BoundVertical {
  const bound = gateway.bound(vertical);
  if (bound) return bound;
  if (gateway.local(vertical))
    throw new PlatformError(
      'unsupported',
      `The vertical ${vertical} runs without a worker of its own, and its co-located host ${lacking}.`,
      { reason: 'no_worker' },
    );
  throw noVertical(vertical);
}

/** @throws PlatformError `unsupported` (501), reason `no_vertical`, when nothing answers for a vertical. */
export function requireKnownVertical(gateway: VerticalGateway, vertical: string): void {
  if (!isKnownVertical(gateway, vertical)) throw noVertical(vertical);
}

/** The diagnosis of a scope whose vertical is not known here. */
export function noVertical(vertical: string): PlatformError {
  return new PlatformError(
    'unsupported',
    `This scope is bound to no vertical: the platform knows neither a worker nor a co-located host called ${vertical}.`,
    { reason: 'no_vertical' },
  );
}
