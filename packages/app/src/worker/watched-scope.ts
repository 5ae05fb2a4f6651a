/** A scope that reports refused reactions: a subscription that lacks a permission, for example, is seen nowhere else. */
import type { ScopeStub } from '@freehold/kernel';

/** A subscription, an executor or a schedule that was refused. */
export interface Refused {
  /** Its name in the declaration. */
  readonly reaction: string;
  readonly code: string;
  readonly detail: string;
}

/** Unexpected errors are incidents, which have their own way. */
const INTERNAL = 'internal';

/** Returns the same scope, which reports each refusal once. */
export function watchedScope(scope: ScopeStub, onRefused: (refused: Refused) => void): ScopeStub {
  const reported = new Set<string>();
  const report = (
    reaction: string,
    error: { readonly code: string; readonly detail: string } | null = null,
  ) => {
    if (error === null || error.code === INTERNAL) return;
    const { code, detail } = error;
    const text = JSON.stringify([reaction, code, detail]);
    if (reported.has(text)) return;
    reported.add(text);
    onRefused({ reaction, code, detail });
  };
  const work: ScopeStub['work'] = async (input) => {
    const done = await scope.work({ ...input, report: true });
    for (const { name, error } of done.attempts ?? []) report(name, error);
    return done;
  };
  const settle: ScopeStub['settle'] = async (result) => {
    report(result.subscriber, result.error);
    return scope.settle(result);
  };
  return new Proxy(scope, {
    get: (target, name) => (name === 'work' ? work : name === 'settle' ? settle : Reflect.get(target, name)),
  });
}
