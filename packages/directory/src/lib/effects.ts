/** The half of an operation that happens outside the directory: what the host administration does in between. */
import type { AdminCall } from '../actors.ts';
import type { LogTarget } from '../declarations/records.ts';
import type { VerticalGateway } from '../gateway.ts';
import type { ScopeTarget } from '../scopes/target.ts';
import type { Deadline } from '../verticals/client.ts';

/** What an effect works with. */
export interface EffectDeps {
  readonly gateway: VerticalGateway;
  readonly deadline: Deadline;
  /** Where a host name is reached: `https://acme.example.com`. */
  readonly originOf: (hostname: string) => string;
  /** The scope that a call's path names. Rejects with `not_found`. */
  readonly target: (call: AdminCall) => Promise<ScopeTarget>;
}

export interface EffectOutcome {
  /** What the directory is to write down. Never a secret. */
  readonly facts: unknown;
  /** The answer, where it holds what the directory must not see. Default: what the directory answers. */
  readonly reply?: unknown;
}

/** Says how far an effect is. It takes no time and does not throw; what is said is lost where nobody listens. */
export type Report = (step: { readonly step: string }) => void;

export interface EffectPlan {
  readonly value: unknown;
  /** What was read of a tenant's data to say so: it is written down in the access log. Default: nothing. */
  readonly read?: { readonly target: LogTarget; readonly items: number };
}

/** One operation's effect. */
export interface Effect<Prepared = unknown> {
  /** Refuses what cannot succeed before an intent is written down. */
  check(deps: EffectDeps, call: AdminCall): Promise<void>;
  /**
   * What would be done, where the directory alone cannot say. Nothing is changed.
   * @param known what the directory says. Default: that is the plan.
   */
  plan?(deps: EffectDeps, call: AdminCall, known: unknown): Promise<EffectPlan>;
  /** Does it. It may be done again after a failure, so it must be safe to repeat. */
  run(deps: EffectDeps, call: AdminCall, prepared: Prepared, report?: Report): Promise<EffectOutcome>;
  /** Reports what came of it, once the outcome is written down. Default: the answer says it all. */
  finalize?(end: {
    readonly call: AdminCall;
    readonly prepared: Prepared;
    readonly value: unknown;
    readonly report: Report;
  }): void;
}
