/** Mutants of the engine on workerd. Few: each takes a runtime of its own. */
import type { Mutant } from './mutant.ts';

const src = 'packages/engine-workerd/src';
const test = 'packages/engine-workerd/test';

export const ENGINE_WORKERD: readonly Mutant[] = [
  {
    id: 'workerd-role-taken-at-the-swap-of-a-restore',
    requirement: null,
    claim: 'A role that is taken between the check and the swap comes back with a restore.',
    file: `${src}/tools/object-tools.ts`,
    find: 'requireReadings(durableDatabase(storage, null), present);',
    replace: 'requireReadings(durableDatabase(storage, null), present.slice(present.length));',
    killer: { project: 'workerd', file: `${test}/swap.test.ts`, title: 'the swap of a restore' },
  },
  {
    id: 'workerd-role-taken-at-the-swap-of-a-rewind',
    requirement: null,
    claim: 'A role that is taken between the check and the swap comes back with a rewind.',
    file: `${src}/tools/object-methods.ts`,
    find: 'requireReadings(readings);',
    replace: 'requireReadings(readings.slice(readings.length));',
    killer: { project: 'workerd', file: `${test}/swap.test.ts`, title: 'the swap of a rewind' },
  },
  {
    id: 'workerd-savepoint-not-rolled-back',
    requirement: null,
    claim: 'A savepoint of a Durable Object keeps the work that failed.',
    file: `${src}/lib/durable-database.ts`,
    find: 'savepoint: (work) => storage.transactionSync(work),',
    replace: 'savepoint: (work) => work(),',
    killer: {
      project: 'workerd',
      file: `${test}/unit-contract.test.ts`,
      title: 'keeps all of the good ones',
    },
  },
  {
    id: 'workerd-script-not-checked',
    requirement: 'C-30',
    claim: 'A script of a vertical can change the tables of the platform.',
    file: `${src}/lib/durable-database.ts`,
    find: 'if (guard) checkScript(script, guard);',
    replace: '',
    killer: { project: 'workerd', file: `${test}/unit-contract.test.ts`, title: 'refuses the whole script' },
  },
  {
    id: 'workerd-failed-work-not-repeated',
    requirement: null,
    claim: 'An object whose work failed sets no alarm.',
    file: `${src}/alarm.ts`,
    find: 'nextAtMs = isGone(error) ? null : now() + RETRY_MS;',
    replace: 'nextAtMs = null;',
    killer: { project: 'workerd', file: `${test}/alarm.test.ts`, title: 'whose work fails tries again' },
  },
  {
    id: 'workerd-upload-not-aborted',
    requirement: 'D-02',
    claim: 'A refused upload leaves its parts in the bucket.',
    file: `${src}/blobs/bucket-blob-store.ts`,
    find: 'await upload.abort().catch(() => undefined);',
    replace: '',
    killer: {
      project: 'workerd',
      file: `${test}/blob-store.test.ts`,
      title: 'that is refused leaves nothing in the bucket',
    },
  },
  {
    id: 'workerd-copy-of-two-moments',
    requirement: 'C-19',
    claim: 'A call that comes while a copy is written changes what is still to be copied.',
    file: 'packages/engine-workerd/src/unit-object.ts',
    find: 'if (this.#held) await this.#passing();',
    replace: '',
    killer: {
      project: 'workerd',
      file: 'packages/engine-workerd/test/tools.test.ts',
      title: 'shows one moment: a call that comes meanwhile waits',
    },
  },
];
