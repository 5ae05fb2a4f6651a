/**
 * The cost of copies and history: writes with history against writes without, exports against SQLite's own copies, a
 * restore against the cheapest checked one, and the time of a rewind.
 */
import { copyFileSync, createReadStream, createWriteStream, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { atMostMs, compareRounds, type Row } from './harness.ts';
import { type Notes, openNotes, scopeIdOf } from './notes.ts';
import { fileOf, makeLog } from './scale-log.ts';

const CALLERS = 64;
/** The writes of a round: several segments' worth. */
const WRITES = 9_600;
const WRITES_ALONE = 1_500;
/** About 130 MB. */
const EVENTS = 200_000;
const ROUNDS = 3;
const REWOUND = [6_400, 51_200];

export async function benchCopies(directory: string): Promise<Row[]> {
  return [
    ...(await benchHistory(directory)),
    ...(await benchWholeCopies(directory)),
    ...(await benchRewind(directory)),
  ];
}

async function benchHistory(directory: string): Promise<Row[]> {
  const on = await openNotes(join(directory, 'history-on'));
  const off = await openNotes(join(directory, 'history-off'), { historyMs: 0 });
  const name = 'invoke with history';
  const against = 'the same without history';
  const line = (callers: number, writes: number) =>
    compareRounds(
      {
        name: `${name}, ${callers === 1 ? 'one caller' : `${callers} callers`}`,
        ours: () => writesPerSecond(on, callers, writes),
        peer: () => writesPerSecond(off, callers, writes),
        against,
      },
      0.9,
    );
  await writesPerSecond(on, CALLERS, WRITES);
  await writesPerSecond(off, CALLERS, WRITES);
  const rows = [await line(CALLERS, WRITES), await line(1, WRITES_ALONE)];
  const segments = bytesIn(historyOf(join(directory, 'history-on')), /^seg-/);
  if (segments === 0) throw new Error('no history was written');
  await on.engine.close();
  await off.engine.close();
  return rows;
}

async function writesPerSecond({ stub }: Notes, callers: number, writes: number): Promise<number> {
  const startedMs = performance.now();
  for (let written = 0; written < writes; written += callers) {
    await Promise.all(
      Array.from({ length: callers }, () =>
        stub.invoke({ operation: 'note/write', input: { text: 'a short note' } }),
      ),
    );
  }
  return (1_000 * writes) / (performance.now() - startedMs);
}

async function benchWholeCopies(directory: string): Promise<Row[]> {
  const { dataDirectory } = await makeLog(join(directory, 'copied'), EVENTS, Date.now());
  const source = fileOf(dataDirectory, 0);
  const bytes = statSync(source).size;
  const notes = await openNotes(dataDirectory);
  const tools = toolsOf(notes);
  const path = (name: string) => join(directory, `copy-${name}`);
  const write = async (format: 'sqlite' | 'ndjson'): Promise<void> => {
    const { body } = await tools.export(format);
    await pipeline(Readable.fromWeb(body as never), createWriteStream(path(format)));
  };
  const restore = async (format: 'sqlite' | 'ndjson'): Promise<void> => {
    const body = Readable.toWeb(createReadStream(path(format))) as ReadableStream<Uint8Array>;
    const { rows } = await tools.restore(format, body);
    if (rows < 2 * EVENTS) throw new Error(`${rows} rows were restored`);
  };
  const fresh = (name: string): string => {
    rmSync(path(name), { force: true });
    return path(name);
  };
  const vacuum = async (): Promise<void> => {
    const db = new DatabaseSync(source, { readOnly: true });
    db.prepare('VACUUM INTO ?').run(fresh('vacuum'));
    db.close();
  };
  const backUp = async (): Promise<void> => {
    const db = new DatabaseSync(source, { readOnly: true });
    await backup(db, fresh('backup'), { rate: 1_000_000 });
    db.close();
  };
  /** Copies the bytes, checks their integrity, and synchronises the file. */
  const checkedCopy = async (): Promise<void> => {
    copyFileSync(path('sqlite'), path('checked'));
    const copy = new DatabaseSync(path('checked'));
    const found = copy.prepare('PRAGMA integrity_check').get() as { integrity_check: string };
    if (found.integrity_check !== 'ok') throw new Error(found.integrity_check);
    copy.close();
    const file = await open(path('checked'));
    await file.sync();
    await file.close();
  };
  const speed = (work: () => Promise<void>) => async (): Promise<number> => {
    const startedMs = performance.now();
    await work();
    return bytes / 1e6 / ((performance.now() - startedMs) / 1_000);
  };
  const line = (
    name: string,
    against: string,
    { ours, peer, atLeast }: { ours: () => Promise<void>; peer: () => Promise<void>; atLeast: number },
  ) =>
    compareRounds(
      { name, against, ours: speed(ours), peer: speed(peer), unit: 'MB', rounds: ROUNDS },
      atLeast,
    );

  // The first copy of a unit waits for its history to begin, once.
  await write('sqlite');
  requireEvents(path('sqlite'));
  const size = `${Math.round(bytes / 1e6)} MB`;
  const rows = [
    await line(`export of ${size}`, 'VACUUM INTO', {
      ours: () => write('sqlite'),
      peer: vacuum,
      atLeast: 0.5,
    }),
    await line(`export of ${size}`, 'SQLite’s backup', {
      ours: () => write('sqlite'),
      peer: backUp,
      atLeast: 0.5,
    }),
    await line(`export of ${size} as NDJSON`, 'VACUUM INTO', {
      ours: () => write('ndjson'),
      peer: vacuum,
      atLeast: 0.1,
    }),
    await line(`restore of ${size}`, 'a copy of the file, its integrity_check, fsync', {
      ours: () => restore('sqlite'),
      peer: checkedCopy,
      atLeast: 0.3,
    }),
    await line(`restore of ${size} from NDJSON`, 'the same', {
      ours: () => restore('ndjson'),
      peer: checkedCopy,
      atLeast: 0.1,
    }),
  ];
  await notes.engine.close();
  for (const copy of [source, path('vacuum'), path('backup'), path('checked')]) requireEvents(copy);
  return rows;
}

function requireEvents(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const { n } = db.prepare('SELECT count(*) AS n FROM _spine_events').get() as { n: number };
  db.close();
  if (n !== EVENTS) throw new Error(`a copy has ${n} events instead of ${EVENTS}`);
}

/** Rewinds there and back again, over a growing history. */
async function benchRewind(directory: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const writes of REWOUND) {
    const dataDirectory = join(directory, `rewound-${writes}`);
    const notes = await openNotes(dataDirectory);
    const tools = toolsOf(notes);
    const current = async () => (await tools.bookmarks({ limit: 1 })).current;
    await writesPerSecond(notes, CALLERS, CALLERS);
    const early = await current();
    await writesPerSecond(notes, CALLERS, writes);
    const late = await current();
    if (!early || !late) throw new Error('there is no way back');
    const ms: number[] = [];
    for (const [{ bookmark }, expected] of [
      [early, CALLERS],
      [late, CALLERS + writes],
    ] as const) {
      const startedMs = performance.now();
      await tools.rewind({ bookmark });
      ms.push(performance.now() - startedMs);
      const found = (await notes.scope.tables({})).find(({ name }) => name === 'notes')?.rows;
      if (found !== expected)
        throw new Error(`after a rewind there are ${found} notes instead of ${expected}`);
    }
    const megabytes = bytesIn(historyOf(dataDirectory), /^seg-/) / 1e6;
    await notes.engine.close();
    const against = `${megabytes.toFixed(1)} MB of segments, all replayed; ${(ms[0] ?? 0).toFixed(0)} ms to the first of them`;
    rows.push(
      atMostMs({
        name: `rewind over ${(writes / CALLERS).toLocaleString('en')} commits`,
        ms: ms[1] ?? Number.NaN,
        limitMs: 500 + 200 * Math.ceil(megabytes),
        against,
      }),
    );
  }
  return rows;
}

function toolsOf({ engine, unit }: Notes) {
  return engine.tools(unit, scopeIdOf(0));
}

/** The engine's directory for the history of the 0th scope. */
function historyOf(dataDirectory: string): string {
  return fileOf(dataDirectory, 0).replace(/\.sqlite$/, '.history');
}

function bytesIn(directory: string, name: RegExp): number {
  return readdirSync(directory)
    .filter((file) => name.test(file))
    .reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}
