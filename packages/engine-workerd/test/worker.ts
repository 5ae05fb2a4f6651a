/** The worker under test: a class for each unit of the contract suites. */
import { env } from 'cloudflare:workers';
import type { Engine, EngineTools, UnitStub } from '@freehold/store';
import {
  guardedUnit,
  migratingUnit,
  notesUnit,
  recordIncident,
  toolsUnits,
} from '@freehold/testkit/unit-contract';
import { directoryUnit } from '../../directory/src/index.ts';
import { defineVertical, makeScopeUnit } from '../../kernel/src/index.ts';
import {
  library,
  libraryUnit,
  libraryVaultUnit,
  recordIncident as recordScopeIncident,
} from '../../testkit/src/scope-contract/index.ts';
import { makeUnitObject, type UnitNamespace, type UnitObject, workerdEngine } from '../src/index.ts';
import { scopeWork } from './scope-work.ts';
import { remember, simulatedHistory, startAnew } from './simulated-history.ts';
import { makeTickingUnit, tickingUnit, ticks } from './ticking-unit.ts';

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      readonly mainModule: typeof import('./worker.ts');
    }
    interface Env {
      readonly NOTES: UnitNamespace;
      readonly GUARDED: UnitNamespace;
      readonly MIGRATING: UnitNamespace;
      readonly LIBRARY: UnitNamespace;
      readonly VAULT: UnitNamespace;
      readonly WORKING: UnitNamespace;
      readonly TICKING: UnitNamespace;
      readonly TOOLS: UnitNamespace;
      readonly OTHER_TOOLS: UnitNamespace;
      readonly SECRET: UnitNamespace;
      readonly HISTORIC: UnitNamespace;
      readonly KEEPING: UnitNamespace;
      readonly DIRECTORY: UnitNamespace;
      readonly BLOBS: R2Bucket;
    }
  }
}

const options = { onIncident: recordIncident };
const [toolsUnit, otherToolsUnit, secretUnit] = toolsUnits;

export const NOTES_COPY_BYTES_MAX = 8 * 1_024 * 1_024;
/** The lead of some objects' clocks over the system's. */
export const ahead = { ms: 0 };
export class NotesObject extends makeUnitObject(notesUnit, {
  ...options,
  now: () => Date.now() + ahead.ms,
  copyBytesMax: NOTES_COPY_BYTES_MAX,
}) {}
export class GuardedObject extends makeUnitObject(guardedUnit, options) {}
export class MigratingObject extends makeUnitObject(migratingUnit, options) {}

/**
 * The first copy makes the object's key-value table, which shows in `sqlite_master` from then on. The suite compares
 * the whole schema, so the table is made beforehand.
 */
export class ToolsObject extends makeUnitObject(toolsUnit, options) {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.kv.put('there', true);
  }
}
export class OtherToolsObject extends makeUnitObject(otherToolsUnit, options) {}
export class SecretObject extends makeUnitObject(secretUnit, options) {}

export const scopeNow = (): number => Date.now() + ahead.ms;
const scopeOptions = { onIncident: recordScopeIncident, now: scopeNow };

export class LibraryObject extends makeUnitObject(libraryUnit, scopeOptions) {}
export class VaultObject extends makeUnitObject(libraryVaultUnit, scopeOptions) {}

/** The directory of the platform. */
export class DirectoryObject extends makeUnitObject(directoryUnit, scopeOptions) {}

/** The same scopes with a limited retention. */
export const keeping = defineVertical({ ...library, retention: { historyDays: 30, denialsDays: 30 } });
export class KeepingObject extends makeUnitObject(makeScopeUnit(keeping), scopeOptions) {}

/** The same scopes, which do their own work. */
export class WorkingObject extends makeUnitObject(
  (object) => makeScopeUnit(library, { onWork: () => object.wake() }),
  { ...scopeOptions, work: scopeWork(library, scopeOptions) },
) {}
export class TickingObject extends makeUnitObject((object) => makeTickingUnit(() => object.wake()), {
  ...scopeOptions,
  work: async (unit, key) => {
    ticks.push(key);
    return (await unit.tick({})).nextAtMs;
  },
}) {}

/** The same scopes with a history, which the runtime under test lacks. */
export class HistoricObject extends makeUnitObject(libraryUnit, {
  ...scopeOptions,
  history: { namespace: (env) => env.HISTORIC, pointInTime: simulatedHistory },
}) {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    startAnew(ctx);
    super(ctx, env);
  }

  override async call(...input: Parameters<UnitObject['call']>): ReturnType<UnitObject['call']> {
    const outcome = await super.call(...input);
    remember(this.ctx, scopeNow());
    return outcome;
  }
}

/** The engine over the worker's own bindings. */
export function openEngine(): Engine & EngineTools {
  return workerdEngine({
    namespaces: {
      'contract-notes': env.NOTES,
      'contract-guarded': env.GUARDED,
      'contract-migrating': env.MIGRATING,
      [toolsUnit.kind]: env.TOOLS,
      [otherToolsUnit.kind]: env.OTHER_TOOLS,
      [secretUnit.kind]: env.SECRET,
    },
    onIncident: recordIncident,
  });
}

/** An engine of scopes: the plain ones, or others of the same kind. */
export function openScopeEngine(library: UnitNamespace = env.LIBRARY): Engine & EngineTools {
  return workerdEngine({
    rewind: library === env.HISTORIC,
    namespaces: {
      [libraryUnit.kind]: library,
      [libraryVaultUnit.kind]: env.VAULT,
      [directoryUnit.kind]: env.DIRECTORY,
      [tickingUnit.kind]: env.TICKING,
    },
    onIncident: recordScopeIncident,
  });
}

const engine = openEngine();
type Notes = UnitStub<ReturnType<typeof notesUnit.open>>;
let keptStub: Notes | undefined;

/** `/fresh` adds through a stub of this request, `/kept` through one that another request made. */
export default {
  async fetch(request: Request): Promise<Response> {
    const fresh = engine.unit(notesUnit, 'over-http', { create: true });
    keptStub ??= fresh;
    const stub = new URL(request.url).pathname === '/kept' ? keptStub : fresh;
    return Response.json(await stub.add({ text: 'x' }));
  },
};
