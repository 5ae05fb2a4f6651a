/** The look-ups of a verification: between the transaction that begins it and the one that writes down what they prove. */
import { PlatformError } from '@freehold/contracts';
import type { Effect } from '../lib/effects.ts';
import { lookUp } from './look-up.ts';
import type { HostnameProbes } from './probes.ts';
import type { VerifyFacts, VerifyPrepared } from './verify.ts';

/** @param probes undefined: nothing is looked up here, and verifying is `unsupported` (501), reason `no_resolver`. */
export function makeVerifyEffect(probes: HostnameProbes | undefined): Effect<VerifyPrepared> {
  const require = (): HostnameProbes => {
    if (probes) return probes;
    throw new PlatformError(
      'unsupported',
      'This platform looks up no host names; its staff vouch for them.',
      {
        reason: 'no_resolver',
      },
    );
  };
  return {
    check: async () => void require(),
    run: async ({ deadline }, _call, { request, before }) => ({
      facts: {
        found: await lookUp(require(), request, deadline),
        before,
        holderToken: request.holderToken,
      } satisfies VerifyFacts,
    }),
  };
}
