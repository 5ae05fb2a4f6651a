/** The half of an operation that the host administration does outside the directory. */
import type { AdminCall } from '../access/actors.ts';
import type { LogTarget, ScopeRecord } from '../declarations/records.ts';
import type { Deadline } from '../verticals/client.ts';
import type { VerticalGateway } from '../verticals/gateway.ts';

/** The scope of a call to its vertical. */
export interface ScopeTarget {
  readonly scope: ScopeRecord;
  /** The host name of its application, or null when no active `app` host name is bound. */
  readonly hostname: string | null;
}

/** The dependencies of an effect. */
export interface EffectDeps {
  readonly gateway: VerticalGateway;
  readonly deadline: Deadline;
  /** The address of a host name: `https://acme.example.com`. */
  readonly originOf: (hostname: string) => string;
  /** The scope that a call's path names. Rejects with `not_found`. */
  readonly target: (call: AdminCall) => Promise<ScopeTarget>;
}

export interface EffectOutcome {
  /** The facts that the directory records. Never a secret. */
  readonly facts: unknown;
  /** The answer, where it holds something that the directory must not see. Default: the directory's answer. */
  readonly reply?: unknown;
}

/** Reports the progress of an effect. It takes no time and does not throw; without a reader the report is lost. */
export type Report = (step: { readonly step: string }) => void;

export interface EffectPlan {
  readonly value: unknown;
  /** The tenant's data that the plan read, for the access log. Default: none. */
  readonly read?: { readonly target: LogTarget; readonly items: number };
}

/** One operation's effect. */
export interface Effect<Prepared = unknown> {
  /** Refuses a call that cannot succeed before an intent is logged. */
  check(deps: EffectDeps, call: AdminCall): Promise<void>;
  /**
   * Makes the plan where the directory alone cannot. Changes nothing.
   * @param known the directory's plan, which is the default.
   */
  plan?(deps: EffectDeps, call: AdminCall, known: unknown): Promise<EffectPlan>;
  /**
   * Names the thing that effects of this sort work on one after the other, each to its recorded outcome. Default: they run side
   * by side.
   */
  turn?(call: AdminCall): string;
  /** Performs the effect. It may run again after a failure, so it must be safe to repeat. */
  run(deps: EffectDeps, call: AdminCall, prepared: Prepared, report?: Report): Promise<EffectOutcome>;
  /** Reports the result after the outcome is logged. Default: the answer is the report. */
  finalize?(end: {
    readonly call: AdminCall;
    readonly prepared: Prepared;
    readonly value: unknown;
    readonly report: Report;
  }): void;
}

/** Effects by the name of their operation. */
export type Effects = Readonly<Record<string, Effect>>;
