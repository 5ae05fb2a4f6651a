/** Mutants of the runtime of deployed verticals. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/runtime-workerd/src';
const hostile = 'packages/runtime-workerd/test/hostile.test.ts';
const supervisor = 'packages/runtime-workerd/test/supervisor.test.ts';

export const RUNTIME: readonly Mutant[] = [
  {
    id: 'runtime-model-anywhere',
    requirement: null,
    claim: 'A bundle reaches private services through the capability for language models.',
    file: `${src}/services/serve.ts`,
    find: "if (url.pathname === '/model' && !ports.isModelProvider(target))",
    replace: "if (url.pathname === '/model' && target.protocol === 'file:')",
    killer: inNode(hostile, 'it does not reach them as a provider of language models either'),
  },
  {
    id: 'runtime-forged-lines',
    requirement: 'C-24',
    claim: 'A bundle writes log lines in the name of a tenant that does not use it.',
    file: `${src}/services/serve.ts`,
    find: 'shown.push(known.get(name) ? line : (rest as HostedLine));',
    replace: 'shown.push(line ?? rest);',
    killer: inNode(hostile, 'its lines are not those of a tenant that does not use it'),
  },
  {
    id: 'runtime-alarm-put-off',
    requirement: null,
    claim: 'Requests put off the due work of a scope again and again.',
    file: `${src}/host/supervisor.ts`,
    find: 'this.#alarmAtMs = await ctx.storage.getAlarm();',
    replace: 'await ctx.storage.getAlarm();',
    killer: inNode(supervisor, 'requests do not put off work that is due'),
  },
  {
    id: 'runtime-alarm-far-ahead',
    requirement: null,
    claim: 'Work that a crash cut off waits for a schedule that is hours ahead.',
    file: `${src}/host/supervisor.ts`,
    find: 'this.#alarmAtMs !== null && this.#alarmAtMs <= recoverAtMs',
    replace: 'this.#alarmAtMs !== null',
    killer: inNode(supervisor, 'a request that may enqueue work brings an alarm forward'),
  },
  {
    id: 'runtime-move-cut-off',
    requirement: null,
    claim:
      'A scope whose move a crash cut off after the migration is opened by a version that does not know it.',
    file: `${src}/host/supervisor.ts`,
    find: "failure?.reason === 'migration_unknown' ? order : null",
    replace: 'failure === null ? null : null',
    killer: inNode(supervisor, 'a move that a crash cuts off after the migration'),
  },
];
