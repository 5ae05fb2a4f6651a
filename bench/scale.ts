/**
 * The cost of size. Reads of a log of two million events against the same reads of a short one: they follow the size
 * of the answer, so the ratio should be near 1. Then many scopes: the time to open one, the memory of an open one, and
 * ten thousand used in turn.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EventId } from '@freehold/contracts';
import type { ScopeStub } from '@freehold/kernel';
import { atMostMegabytes, atMostMs, compare, median, type Row } from './harness.ts';
import { type Notes, openHost, openNotes, scopeIdOf } from './notes.ts';
import { inChild } from './scale-child.ts';
import { EVENTS_PER_NOTE, fileOf, type Log, makeLog } from './scale-log.ts';

const SHORT = 1_000;
const MIDDLE = 100_000;
const LONG = 2_000_000;
/** The number of records that are read in turn. In the long log their pages exceed the page cache of a scope. */
const RECORDS = 50;
const CALLERS = 64;
const OPENED = 300;
const KEPT_OPEN = 1_000;
const TOUCHED = 10_000;
const OPEN_MAX = 256;

/** The bounds of the specification: facets look at so many events, and tables are counted up to as many rows. */
const LOOKED_AT_MAX = 100_000;

interface OpenLog {
  readonly log: Log;
  readonly notes: Notes;
  readonly scope: ScopeStub;
}

export async function benchScale(directory: string): Promise<Row[]> {
  const [short, middle, long] = [
    await openLog(directory, SHORT),
    await openLog(directory, MIDDLE),
    await openLog(directory, LONG),
  ];
  const rows = [
    ...(await benchReads(middle, short)),
    ...(await benchReads(long, short)),
    ...(await benchBounded(long, middle)),
    await benchWrites(long, short),
  ];
  for (const { notes } of [short, middle, long]) await notes.engine.close();
  return [...rows, ...(await benchOpening(directory, long.log)), ...(await benchMany(directory))];
}

async function openLog(directory: string, events: number): Promise<OpenLog> {
  const log = await makeLog(join(directory, `log-${events}`), events, Date.now());
  const notes = await openNotes(log.dataDirectory);
  const opened = { log, notes, scope: notes.scope };
  await requireAnswers(opened);
  return opened;
}

/** Checks that every read returns the written data, so that no failure is measured. */
async function requireAnswers(opened: OpenLog): Promise<void> {
  const { log, scope } = opened;
  const { history, cause, effects, page } = readsOf(opened);
  const facets = await scope.facets({ groupBy: 'type' });
  const found = {
    history: (await history(1)).items.length,
    cause: (await cause(1)).items.length,
    effects: (await effects(1)).items.length,
    page: (await page()).rows.length,
    facets: facets.total,
  };
  const expected = {
    history: EVENTS_PER_NOTE,
    cause: EVENTS_PER_NOTE,
    effects: EVENTS_PER_NOTE - 1,
    page: 100,
    facets: Math.min(log.events, LOOKED_AT_MAX),
  };
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`a log of ${log.events} answers ${JSON.stringify(found)}`);
}

function readsOf({ log, scope }: OpenLog) {
  const note = (turn: number) => Math.floor(((turn % RECORDS) / RECORDS) * log.notes);
  const table = { table: '_spine_events', filters: [], order: 'asc' as const, limit: 100 };
  return {
    history: (turn: number) =>
      scope.history({ entity: { type: 'note', id: log.noteId(note(turn)) }, limit: 50 }),
    cause: (turn: number) => scope.cause({ event: log.eventId(note(turn), EVENTS_PER_NOTE - 1) as EventId }),
    effects: (turn: number) => scope.effects({ event: log.eventId(note(turn), 0) as EventId }),
    page: () => scope.table(table),
  };
}

async function benchReads(large: OpenLog, small: OpenLog): Promise<Row[]> {
  const [ours, peer] = [readsOf(large), readsOf(small)];
  const inTurn = (read: (turn: number) => unknown) => {
    let turn = 0;
    return () => read(turn++);
  };
  const size = large.log.events.toLocaleString('en');
  const against = `the same in a log of ${small.log.events.toLocaleString('en')}`;
  const line = (name: string, one: () => unknown, other: () => unknown, atLeast: number) =>
    compare({ name: `${name}, ${size} events`, ours: one, peer: other, against }, atLeast);
  return [
    await line(
      'history of one record',
      () => ours.history(0),
      () => peer.history(0),
      0.8,
    ),
    await line(`history of ${RECORDS} records in turn`, inTurn(ours.history), inTurn(peer.history), 0.4),
    await line('cause, 20 events back', inTurn(ours.cause), inTurn(peer.cause), 0.4),
    await line('effects, 19 events on', inTurn(ours.effects), inTurn(peer.effects), 0.4),
    await line('a page of a table', ours.page, peer.page, 0.8),
  ];
}

/** A read with a bound takes as long in a log of twenty times that size. */
async function benchBounded(large: OpenLog, small: OpenLog): Promise<Row[]> {
  const against = `the same in a log of ${small.log.events.toLocaleString('en')}, which is the bound`;
  const size = large.log.events.toLocaleString('en');
  return [
    await compare(
      {
        name: `facets, ${size} events`,
        ours: () => large.scope.facets({ groupBy: 'type' }),
        peer: () => small.scope.facets({ groupBy: 'type' }),
        against,
      },
      0.8,
    ),
    await compare(
      {
        name: `the list of tables, ${size} events`,
        ours: () => large.scope.tables({}),
        peer: () => small.scope.tables({}),
        against,
      },
      0.8,
    ),
  ];
}

async function benchWrites(large: OpenLog, small: OpenLog): Promise<Row> {
  const writeIn =
    ({ notes: { stub } }: OpenLog) =>
    () =>
      Promise.all(
        Array.from({ length: CALLERS }, () =>
          stub.invoke({ operation: 'note/write', input: { text: 'a short note' } }),
        ),
      );
  return compare(
    {
      name: `invoke, ${CALLERS} callers, ${large.log.events.toLocaleString('en')} events`,
      ours: writeIn(large),
      peer: writeIn(small),
      against: `the same in a log of ${small.log.events.toLocaleString('en')}`,
      batch: CALLERS,
    },
    0.7,
  );
}

async function benchOpening(directory: string, long: Log): Promise<Row[]> {
  const small = await makeScopes(join(directory, 'opened'), OPENED);
  const { engine, host } = openHost(small, { openUnitsMax: OPENED + 1 });
  const open = async (scope: number): Promise<number> => {
    const startedMs = performance.now();
    await host.scope(scopeIdOf(scope)).identify({});
    return performance.now() - startedMs;
  };
  const ms: number[] = [];
  for (let scope = 1; scope <= OPENED; scope++) ms.push(await open(scope));
  if (engine.openUnits !== OPENED) throw new Error(`${engine.openUnits} scopes are open`);
  await engine.close();

  const longMs: number[] = [];
  for (let round = 0; round < 20; round++) {
    const opened = openHost(long.dataDirectory);
    const startedMs = performance.now();
    await opened.host.scope(scopeIdOf(0)).identify({});
    longMs.push(performance.now() - startedMs);
    await opened.engine.close();
  }
  return [
    atMostMs({ name: 'open a scope and ask it', ms: median(ms), limitMs: 3 }),
    atMostMs({
      name: `the same, ${long.events.toLocaleString('en')} events`,
      ms: median(longMs),
      limitMs: 3,
    }),
  ];
}

async function benchMany(directory: string): Promise<Row[]> {
  const openScopes = await makeScopes(join(directory, 'kept'), KEPT_OPEN + 1);
  const memory = await inChild({
    task: 'keep',
    dataDirectory: openScopes,
    scopes: KEPT_OPEN,
    openUnitsMax: KEPT_OPEN + 1,
  });
  const many = await makeScopes(join(directory, 'many'), TOUCHED);
  const touch = await inChild({
    task: 'touch',
    dataDirectory: many,
    scopes: TOUCHED,
    openUnitsMax: OPEN_MAX,
  });
  const turns = `${TOUCHED.toLocaleString('en')} scopes in turn, at most ${OPEN_MAX} open`;
  return [
    atMostMegabytes({
      name: 'memory of an open scope',
      megabytes: (memory.rss - memory.rssBefore) / KEPT_OPEN / 1e6,
      limit: 1,
      against: `resident, over ${KEPT_OPEN.toLocaleString('en')} scopes, each written to and read`,
    }),
    atMostMs({
      name: `a write to ${turns}`,
      ms: touch.ms / TOUCHED,
      limitMs: 10,
      against: 'each opened, committed, and closed when its turn comes',
    }),
    atMostMegabytes({
      name: 'peak memory of the same',
      megabytes: touch.rssPeak / 1e6,
      limit: 512,
      against: `the whole process; ${Math.round(touch.rssBefore / 1e6)} MB of it before the first scope`,
    }),
  ];
}

/** Makes a data directory with so many scopes, from the 1st: copies of one small one. */
async function makeScopes(dataDirectory: string, scopes: number): Promise<string> {
  mkdirSync(dataDirectory, { recursive: true });
  const { engine, stub } = await openNotes(dataDirectory, { historyMs: 0 });
  for (let i = 0; i < 20; i++)
    await stub.invoke({ operation: 'note/write', input: { text: 'a short note' } });
  await engine.close();
  for (let scope = 1; scope <= scopes; scope++)
    copyFileSync(fileOf(dataDirectory, 0), fileOf(dataDirectory, scope));
  return dataDirectory;
}
