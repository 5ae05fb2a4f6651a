/** What the platform does about host names by itself: it answers their challenges, and looks at those in use again. */
import type { UnitStub } from '@freehold/store';
import type { SweepUnit } from '../operations-log/recorder.ts';
import type { DirectoryMethods } from '../unit.ts';
import { makeChallengeRoute } from './challenge.ts';
import { makeHostnameRecheck, type RecheckDeps } from './recheck.ts';

export interface HostnameMaintenance {
  /** Answers a request for the document that proves a claimed name; null for every other request. */
  answerChallenge(request: Request): Promise<Response | null>;
  /** Looks again at every name in use that a record proved; one line each, for `recordSweep`. A day apart is enough. */
  recheck(): AsyncGenerator<SweepUnit, void, undefined>;
}

export function makeHostnameMaintenance(
  deps: RecheckDeps & { readonly directory: Pick<UnitStub<DirectoryMethods>, 'hostnameChallenge'> },
): HostnameMaintenance {
  return {
    answerChallenge: makeChallengeRoute((claim) => deps.directory.hostnameChallenge(claim)),
    recheck: makeHostnameRecheck(deps),
  };
}
