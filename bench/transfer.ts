/** The cost of many lines: 100,000 records imported from CSV and exported again, in a process of its own, and its memory. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openNodeEngine } from '@freehold/engine-node';
import { makeScopeHost, makeScopeUnit } from '@freehold/kernel';
import { clinic } from '../packages/app/test/clinic.ts';
import { atMostMegabytes, atMostMs, type Row } from './harness.ts';
import { principal, scopeIdOf, tenantId } from './notes.ts';

const LINES = 100_000;
/** Lines of one part of the file. */
const PART = 1_000;

interface Used {
  readonly importMs: number;
  /** The waits of other callers while the import ran: the longest, and that of one in a hundred. */
  readonly waitMs: number;
  readonly hundredthMs: number;
  readonly exportMs: number;
  readonly exported: number;
  /** Resident memory in bytes: of the process with the application, and at its peak. */
  readonly rssBefore: number;
  readonly rssPeak: number;
}

export async function benchTransfer(directory: string): Promise<Row[]> {
  const child = fork(import.meta.filename, [directory]);
  const [used] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    Used | number | null,
  ];
  if (used === null || typeof used === 'number') throw new Error(`the transfer ended with ${used}`);
  if (used.exported < LINES) throw new Error(`${used.exported} records were exported`);
  const many = LINES.toLocaleString('en');
  return [
    atMostMegabytes({
      name: `memory that ${many} records imported and exported take`,
      megabytes: (used.rssPeak - used.rssBefore) / 1e6,
      limit: 200,
      against: `resident, at its peak; ${Math.round(used.rssBefore / 1e6)} MB of the process before`,
    }),
    atMostMegabytes({
      name: 'memory of that whole process',
      megabytes: used.rssPeak / 1e6,
      limit: 350,
      against: 'resident, at its peak; with the sources, whose types Node strips as it loads them',
    }),
    atMostMs({
      name: `an imported line of ${many}`,
      ms: used.importMs / LINES,
      limitMs: 3,
      against: 'sent, judged, made unseen, moved with its event; each step is durable',
    }),
    atMostMs({
      name: 'the longest wait of another caller meanwhile',
      ms: used.waitMs,
      limitMs: 250,
      against: 'a list of 20 and a record made, again and again',
    }),
    atMostMs({
      name: 'the wait of one in a hundred of them',
      ms: used.hundredthMs,
      limitMs: 60,
      against: 'the same',
    }),
    atMostMs({
      name: `an exported record of ${many}`,
      ms: used.exportMs / used.exported,
      limitMs: 0.2,
      against: 'in parts of 500',
    }),
  ];
}

async function run(dataDirectory: string): Promise<Used> {
  const engine = openNodeEngine({ dataDirectory, onIncident: (error) => console.error(error) });
  const host = makeScopeHost({ engine, unit: makeScopeUnit(clinic.vertical) });
  const scopeId = scopeIdOf(0);
  await host.provisionScopeLocal({ tenantId, scopeId, name: 'Clinic' });
  await host.scope(scopeId).assignRole({ principal, role: 'owner', by: 'platform' });
  const call = async <T>(operation: string, input: object): Promise<T> =>
    (await host.operations(scopeId, principal).invoke({ operation, input })).output as T;

  let isWorking = true;
  const waits: number[] = [];
  const asking = async (operation: string, input: object): Promise<void> => {
    while (isWorking) {
      const startedMs = performance.now();
      await call(operation, input);
      waits.push(performance.now() - startedMs);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const others = [
    asking('animal/list', {}),
    asking('animal/create', { name: 'Of another caller', fee: 100 }),
  ];
  const work = async (): Promise<void> => {
    for (;;) {
      const { nextAtMs } = await host.scope(scopeId).work({});
      if (nextAtMs === null || nextAtMs > Date.now()) return;
    }
  };

  const rssBefore = process.memoryUsage.rss();
  const startedMs = performance.now();
  const id = await send(call);
  await work();
  await call('animal/import-apply', { import: id });
  await work();
  const importMs = performance.now() - startedMs;
  isWorking = false;
  await Promise.all(others);
  const made = waits.toSorted((a, b) => a - b);

  const exportedMs = performance.now();
  let exported = 0;
  let cursor: string | null = null;
  do {
    const part: { rows: number; nextCursor: string | null } = await call(
      'animal/export',
      cursor === null ? {} : { cursor },
    );
    exported += part.rows;
    cursor = part.nextCursor;
  } while (cursor !== null);
  const exportMs = performance.now() - exportedMs;
  await engine.close();
  return {
    importMs,
    waitMs: made.at(-1) ?? 0,
    hundredthMs: made[Math.floor(made.length * 0.99)] ?? 0,
    exportMs,
    exported,
    rssBefore,
    rssPeak: process.resourceUsage().maxRSS * 1_024,
  };
}

async function send(call: <T>(operation: string, input: object) => Promise<T>): Promise<string> {
  let id = '';
  for (let part = 1, line = 0; line < LINES; part++) {
    const lines: string[] = part === 1 ? ['name,kind,fee,born,insured'] : [];
    for (const end = line + PART; line < end; line++)
      lines.push(`Animal ${line} of many,${line % 2 === 0 ? 'dog' : 'cat'},${line % 900}.50,2020-02-29,yes`);
    const csv = `${lines.join('\n')}\n`;
    const isLast = line === LINES;
    if (part === 1) ({ id } = await call<{ id: string }>('animal/import', { csv, isLast }));
    else await call('animal/import-part', { import: id, part, csv, isLast });
  }
  return id;
}

if (process.channel && process.argv[1] === import.meta.filename) {
  const used = await run(process.argv[2] as string);
  process.send?.(used, () => process.disconnect?.());
}
