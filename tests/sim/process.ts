/** One process of the platform from start to death: an engine, a host of scopes, and the runner of their work. */
import {
  type DeliveryRunner,
  makeDeliveryRunner,
  makeScopeHost,
  makeScopeUnit,
  makeUnitVault,
  makeVaultUnit,
  type ScopeHost,
  type Vault,
} from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import type { EngineParts, EngineUnderTest } from './engine/engine-under-test.ts';
import { type WatchedEngine, type WatchParts, watchEngine } from './engine/watch.ts';
import { makeLedger } from './ledger/ledger.ts';
import type { Random } from './lib/random.ts';
import type { Life, Scheduler } from './lib/scheduler.ts';
import type { Mutant } from './mutant.ts';
import type { SimulatedOutside } from './outside.ts';

/** The vault seals its keys under this one, which is no secret here. */
const SEAL_KEY = 'the sealing key of every simulation';

export interface SimProcess {
  readonly life: { isDead: boolean };
  readonly directory: string;
  readonly inner: EngineUnderTest;
  readonly engine: WatchedEngine;
  readonly host: ScopeHost;
  readonly runner: DeliveryRunner;
}

export interface ProcessParts extends Pick<WatchParts, 'judge' | 'observerOf' | 'pass' | 'trace'> {
  readonly directory: string;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly outside: SimulatedOutside;
  readonly mutant: Mutant;
  readonly openEngine: (parts: EngineParts, life: Life) => EngineUnderTest;
}

export function startProcess(parts: ProcessParts): SimProcess {
  const { directory, random, scheduler, outside, mutant, openEngine } = parts;
  const life = { isDead: false };
  const { now } = scheduler;
  const bytes = random.fork('bytes');
  const { engine: tamperEngine = (engine) => engine, vault: tamperVault = (vault) => vault } = mutant;
  const inner = tamperEngine(
    openEngine(
      {
        dataDirectory: directory,
        now,
        random: (size) => bytes.bytes(size),
        openUnitsMax: random.between(3, 8),
      },
      life,
    ),
  );
  const engine = watchEngine({
    ...parts,
    engine: inner,
    life,
    ...(mutant.definition ? { tamper: mutant.definition } : {}),
  });
  const vaultUnit = makeVaultUnit(makeKeyring([SEAL_KEY]));
  const near = makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }));
  const vault = tamperVault(
    inner.isPaced ? farAway(near, { scheduler, life, random: random.fork('vault') }) : near,
  );
  const vertical = makeLedger(outside.seenFrom(life));
  const unit = makeScopeUnit(vertical, mutant.sleeps ? {} : { onWork: (scopeId) => runner.wake(scopeId) });
  const host = makeScopeHost({
    engine,
    unit,
    vault,
    now,
    random: (size) => bytes.bytes(size),
    after: (ms, task) => void scheduler.after(life, ms, 'timer', task),
  });
  const runner: DeliveryRunner = makeDeliveryRunner({
    vertical,
    scope: (scopeId) => host.scope(scopeId),
    now,
    after: (ms, task) => scheduler.after(life, ms, 'timer', task),
    onIncident: () => undefined,
  });
  return { life, directory, inner, engine, host, runner };
}

/** A vault on another machine: its answers take a while, and may overtake one another. */
function farAway(
  vault: Vault,
  {
    scheduler,
    life,
    random,
  }: { readonly scheduler: Scheduler; readonly life: Life; readonly random: Random },
): Vault {
  const travelled = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    if (random.chance(0.5))
      await new Promise<void>((resolve) => scheduler.soon(life, 'an answer of the vault', resolve));
    return value;
  };
  return {
    keys: (scope, subjects) => travelled(vault.keys(scope, subjects)),
    allot: (scope, count) => travelled(vault.allot(scope, count)),
    bind: (scope, bindings) => travelled(vault.bind(scope, bindings)),
    handBack: (scope, keyIds) => travelled(vault.handBack(scope, keyIds)),
    shredded: (scope) => travelled(vault.shredded(scope)),
    shred: (scope, subject, keyIds) => travelled(vault.shred(scope, subject, keyIds)),
  };
}
