/** Spec C-16, C-24: what was measured is found again by script, by tenant and by time; a bad day loses measurements alone. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ScopeId, TenantId } from '@freehold/contracts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddedTelemetry, type ServedLine, type TelemetryLimits } from '../src/index.ts';

const START = Date.UTC(2026, 10, 27, 12);
const ACME = 'tnt_00000000000000000000000001' as TenantId;
const BOLT = 'tnt_00000000000000000000000002' as TenantId;
const SCOPE = 'scp_00000000000000000000000001' as ScopeId;

let folder: string;
let nowMs: number;
let incidents: unknown[];
let store: EmbeddedTelemetry;
let served: ServedLine[];
let droppedBefore: number;

const open = (limits: Partial<TelemetryLimits> = {}) =>
  new EmbeddedTelemetry({
    folder,
    limits,
    pull: () => {
      const taken = { lines: served, dropped: droppedBefore };
      served = [];
      droppedBefore = 0;
      return taken;
    },
    now: () => nowMs,
    onIncident: (error) => void incidents.push(error),
  });

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'freehold-telemetry-')), 'telemetry');
  nowMs = START;
  incidents = [];
  served = [];
  droppedBefore = 0;
  store = open();
});

afterEach(() => {
  store.close();
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

const line = (fields: Partial<ServedLine> = {}): ServedLine => ({
  atMs: nowMs,
  script: 'rental',
  vertical: 'rental',
  version: '1.0.0',
  tenant: ACME,
  scope: SCOPE,
  operation: 'item/list',
  status: 200,
  durationMs: 4,
  traceId: null,
  spanId: null,
  parentSpanId: null,
  ...fields,
});

const window = { sinceMs: START - 3_600_000, untilMs: START + 3_600_000 };

describe('requests', () => {
  test('come newest first, page by page, over the end of a day, and each once', async () => {
    const midnight = Date.UTC(2026, 10, 28);
    for (let i = 0; i < 7; i++)
      served.push(line({ atMs: midnight - 3_000 + i * 1_000, operation: `op/${i}` }));
    const query = { tenant: ACME, sinceMs: midnight - 60_000, untilMs: midnight + 60_000, limit: 3 };
    const seen: (string | null)[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.tenantLogs({ ...query, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.items.map(({ operation }) => operation));
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(['op/6', 'op/5', 'op/4', 'op/3', 'op/2', 'op/1', 'op/0']);
    expect(readdirSync(folder).filter((name) => name.endsWith('.sqlite'))).toHaveLength(2);
  });

  test('of a tenant name no other, and are found by scope, vertical and status', async () => {
    served.push(line({ status: 503 }));
    served.push(line({ tenant: BOLT, scope: 'scp_00000000000000000000000002' }));
    served.push(line({ scope: 'scp_00000000000000000000000003' }));
    const ask = (filter: object) => store.tenantLogs({ tenant: ACME, ...window, limit: 10, ...filter });
    expect((await ask({})).items.map(({ tenant }) => tenant)).toEqual([ACME, ACME]);
    expect((await ask({ scope: SCOPE })).items).toHaveLength(1);
    expect((await ask({ minStatus: 500 })).items).toMatchObject([{ status: 503 }]);
    expect((await ask({ vertical: 'fieldwork' })).items).toEqual([]);
  });

  test('lie in the window: its begin counts, its end does not', async () => {
    for (const atMs of [START - 1, START, START + 999, START + 1_000]) served.push(line({ atMs }));
    const query = { sinceMs: START, untilMs: START + 1_000, limit: 10 };
    expect((await store.scriptLogs(query)).items).toHaveLength(2);
  });

  test('a cursor of another list is refused', async () => {
    const query = { tenant: ACME, ...window, limit: 1, cursor: 'item.2' };
    await expect(store.tenantLogs(query)).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('lines', () => {
  test('of the code of verticals come newest first, of their tenant alone', async () => {
    const said = { vertical: 'rental', version: '1.0.0', scope: SCOPE, level: 'log', stack: null };
    store.log({ ...said, atMs: START, tenant: ACME, kind: 'console', text: 'first' });
    store.log({ ...said, atMs: START + 1, tenant: BOLT, kind: 'console', text: 'of another' });
    store.log({ ...said, atMs: START + 2, tenant: ACME, kind: 'exception', text: 'second', stack: 'at f' });
    const { items } = await store.tenantLines({ tenant: ACME, ...window, limit: 10 });
    expect(items).toMatchObject([
      { tenant: ACME, text: 'second', kind: 'exception', stack: 'at f' },
      { tenant: ACME, text: 'first', scope: SCOPE },
    ]);
  });
});

describe('figures', () => {
  test('add up by script and version, with quantiles', async () => {
    for (let i = 1; i <= 100; i++) served.push(line({ durationMs: i }));
    served.push(line({ status: 404 }));
    served.push(line({ status: 500, version: '1.1.0', script: 'rental--1.1.0' }));
    const { items } = await store.scriptMetrics({ ...window, limit: 10 });
    expect(items).toMatchObject([
      { script: 'rental', version: '1.0.0', requests: 101, refused: 1, errors: 0 },
      { script: 'rental--1.1.0', version: '1.1.0', requests: 1, refused: 0, errors: 1 },
    ]);
    const [{ durationMsP50, durationMsP95 } = { durationMsP50: 0, durationMsP95: 0 }] = items;
    expect(Math.abs((durationMsP50 ?? 0) - 50)).toBeLessThan(6);
    expect(Math.abs((durationMsP95 ?? 0) - 95)).toBeLessThan(12);
  });

  test('of groups come page by page', async () => {
    for (const version of ['1.0.0', '1.1.0', '1.2.0']) served.push(line({ version }));
    const first = await store.scriptMetrics({ ...window, limit: 2 });
    const cursor = first.nextCursor as string;
    const second = await store.scriptMetrics({ ...window, limit: 2, cursor });
    expect([...first.items, ...second.items].map(({ version }) => version)).toEqual([
      '1.0.0',
      '1.1.0',
      '1.2.0',
    ]);
    expect(second.nextCursor).toBeNull();
  });

  test('over time have a point for each step, an empty one too', async () => {
    served.push(line({ atMs: START }));
    served.push(line({ atMs: START + 120_000 }));
    const points = await store.tenantSeries({
      tenant: ACME,
      sinceMs: START,
      untilMs: START + 180_000,
      stepSeconds: 60,
    });
    expect(points.map(({ requests }) => requests)).toEqual([1, 0, 1]);
    expect(points[1]).toMatchObject({ durationMsP50: null, at: '2026-11-27T12:01:00.000Z' });
  });
});

describe('outgoing calls', () => {
  test('are counted by version and host, and cut at the limit', async () => {
    const call = { atMs: START, vertical: 'rental', version: '1.0.0', bytes: 10, failed: false };
    for (const host of ['a.example', 'b.example', 'a.example']) store.egress({ ...call, host });
    const query = { vertical: 'rental', sinceMs: START - 1, limit: 1 };
    expect(await store.observed(query)).toEqual({
      hosts: [{ version: '1.0.0', host: 'a.example', calls: 2, lastSeenAtMs: START }],
      sampled: false,
      truncated: true,
    });
    expect((await store.observed({ ...query, vertical: 'other' })).hosts).toEqual([]);
  });
});

describe('a bad day', () => {
  test('what does not fit is dropped and counted, and no caller waits', () => {
    store.close();
    store = open({ waitingMax: 3 });
    const call = {
      atMs: START,
      vertical: 'rental',
      version: '1.0.0',
      host: 'a.example',
      bytes: 1,
      failed: false,
    };
    for (let i = 0; i < 5; i++) store.egress(call);
    expect(store.dropped).toBe(2);
    droppedBefore = 7;
    store.flush();
    expect(store.dropped).toBe(9);
  });

  test('a batch that the disk did not take is counted, and its cause is told', async () => {
    served.push(line());
    store.flush();
    const [name = ''] = readdirSync(folder);
    const other = new DatabaseSync(join(folder, name));
    // As on a full disk, the statement that fails ends the transaction.
    other.exec("CREATE TRIGGER full BEFORE INSERT ON requests BEGIN SELECT RAISE(ROLLBACK, 'no room'); END");
    other.close();
    served.push(line());
    store.flush();
    expect([store.dropped, incidents.map(String)]).toEqual([1, [expect.stringContaining('no room')]]);
  });

  test('a vertical that says too much in a minute is told so once, and cut', () => {
    store.close();
    store = open({ linesPerMinute: 2 });
    const said = {
      vertical: 'rental',
      version: '1.0.0',
      tenant: ACME,
      scope: SCOPE,
      level: 'log',
      stack: null,
    };
    for (let i = 0; i < 10; i++) store.log({ ...said, atMs: START, kind: 'console', text: `line ${i}` });
    expect(store.dropped).toBe(7);
  });

  test('a damaged file is put aside, named, and begun anew', async () => {
    served.push(line());
    store.close();
    const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
    writeFileSync(
      join(folder, file),
      'no database at all, but long enough to be looked at as one '.repeat(80),
    );
    store = open();
    served.push(line());
    expect((await store.scriptLogs({ ...window, limit: 10 })).items).toHaveLength(1);
    expect(readdirSync(folder).some((name) => name.includes('.damaged-'))).toBe(true);
    expect(String(incidents[0])).toMatch(/put aside/);
  });

  test('old days go, and so do the oldest of too many bytes', () => {
    for (let day = 0; day < 9; day++) {
      nowMs = START + day * 86_400_000;
      served.push(line());
      store.flush();
    }
    const days = () => readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
    expect(days()).toHaveLength(7);
    store.close();
    nowMs += 86_400_000;
    store = open({ bytesMax: 1 });
    served.push(line());
    store.flush();
    expect(days()).toHaveLength(1);
  });

  test('nothing of a forgotten tenant is left in any file', async () => {
    served.push(line());
    served.push(line({ tenant: BOLT }));
    store.flush();
    store.forgetTenant(ACME);
    expect((await store.tenantLogs({ tenant: ACME, ...window, limit: 10 })).items).toEqual([]);
    expect((await store.tenantLogs({ tenant: BOLT, ...window, limit: 10 })).items).toHaveLength(1);
  });

  /** Every page but the first ones: the file opens, and its data is unreadable. */
  const damage = (): void => {
    for (let i = 0; i < 5_000; i++) served.push(line());
    store.close();
    const path = join(folder, '2026-11-27.sqlite');
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x55, 16 * 4_096));
    store = open();
  };
  const aside = () => readdirSync(folder).filter((name) => name.includes('.damaged-'));

  test('a file whose damage a read meets is put aside, and the read answers with what is left', async () => {
    damage();
    expect((await store.tenantLogs({ tenant: ACME, ...window, limit: 10 })).items).toEqual([]);
    expect(aside()).toHaveLength(1);
    expect(incidents.map(String)).toEqual([expect.stringContaining('put aside')]);
  });

  test('a damaged file stops no erasure: it goes as a whole', async () => {
    damage();
    store.forgetTenant(ACME);
    expect(aside()).toEqual([]);
  });

  test('a damaged file goes after the days that are kept', async () => {
    damage();
    await store.tenantLogs({ tenant: ACME, ...window, limit: 10 });
    nowMs = START + 6 * 86_400_000;
    served.push(line());
    store.flush();
    expect(aside()).toHaveLength(1);
    nowMs += 86_400_000;
    served.push(line());
    store.flush();
    expect(aside()).toEqual([]);
  });

  test('a day that is too large loses its oldest requests, and keeps its figures', async () => {
    store.close();
    store = open({ bytesMax: 500_000 });
    for (let batch = 0; batch < 20; batch++) {
      for (let i = 0; i < 500; i++) served.push(line({ atMs: START + batch }));
      store.flush();
    }
    const { items } = await store.tenantLogs({ tenant: ACME, sinceMs: START, untilMs: START + 10, limit: 1 });
    expect(items).toEqual([]);
    expect((await store.tenantLogs({ tenant: ACME, ...window, limit: 1 })).items).toHaveLength(1);
    expect((await store.scriptMetrics({ ...window, limit: 1 })).items).toMatchObject([{ requests: 10_000 }]);
  });

  test('the times that lines give themselves do not begin the count of a minute anew', () => {
    store.close();
    store = open({ linesPerMinute: 2 });
    const said = {
      vertical: 'rental',
      version: '1.0.0',
      tenant: ACME,
      scope: SCOPE,
      level: 'log',
      stack: null,
    };
    for (let i = 0; i < 10; i++)
      store.log({ ...said, atMs: START + (i % 2) * 60_000, kind: 'console', text: `line ${i}` });
    expect(store.dropped).toBe(7);
  });

  test('without a request there is no file', () => {
    store.flush();
    expect(existsSync(folder)).toBe(false);
  });
});
