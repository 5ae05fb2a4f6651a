/** The worker under test: a class for each unit of the contract suite. */
import { env } from 'cloudflare:workers';
import type { Engine, UnitStub } from '@freehold/store';
import { guardedUnit, migratingUnit, notesUnit, recordIncident } from '@freehold/store/contract-suite';
import { makeUnitObject, type UnitNamespace, workerdEngine } from '../src/index.ts';

declare global {
  namespace Cloudflare {
    interface GlobalProps {
      readonly mainModule: typeof import('./worker.ts');
    }
    interface Env {
      readonly NOTES: UnitNamespace;
      readonly GUARDED: UnitNamespace;
      readonly MIGRATING: UnitNamespace;
    }
  }
}

const options = { onIncident: recordIncident };

export class NotesObject extends makeUnitObject(notesUnit, options) {}
export class GuardedObject extends makeUnitObject(guardedUnit, options) {}
export class MigratingObject extends makeUnitObject(migratingUnit, options) {}

/** The engine over the worker's own bindings. */
export function openEngine(): Engine {
  return workerdEngine({
    namespaces: {
      'contract-notes': env.NOTES,
      'contract-guarded': env.GUARDED,
      'contract-migrating': env.MIGRATING,
    },
    onIncident: recordIncident,
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
