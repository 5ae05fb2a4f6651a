/**
 * The store of measurements on one machine. Requests are fetched from where they wait, and written together twice a second
 * with what else waits: no request waits for it, and what does not fit is dropped and counted.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { type Page, PlatformError, type ScopeId, type TenantId, toTimestamp } from '@freehold/contracts';
import type { EgressObserver, ObservedHost, Telemetry } from '@freehold/directory';
import type { IncidentSink } from '@freehold/store';
import { type Batch, DayFile } from './day-file.ts';
import { BUCKETS, quantileOf } from './histogram.ts';
import type { EgressCall, LogLine, ServedLine } from './lines.ts';

export interface TelemetryLimits {
  /** The number of days that are kept, today included. Default 7. */
  readonly days: number;
  /** The most bytes of all days: the oldest go first. Default 1 GiB. */
  readonly bytesMax: number;
  /** The most lines that wait in memory. Default 20,000. */
  readonly waitingMax: number;
  /** The most lines of one vertical's own code in a minute. Default 3,000. */
  readonly linesPerMinute: number;
}

export const TELEMETRY_LIMITS: TelemetryLimits = {
  days: 7,
  bytesMax: 1_073_741_824,
  waitingMax: 20_000,
  linesPerMinute: 3_000,
};

export interface EmbeddedTelemetryOptions {
  /** A folder of its own. */
  readonly folder: string;
  readonly limits?: Partial<TelemetryLimits>;
  /** Gives the requests that were answered since it was asked last, and the number of those that were dropped. */
  readonly pull: () => { readonly lines: readonly ServedLine[]; readonly dropped: number };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onIncident: IncidentSink;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const WRITE_AFTER_MS = 500;
const FILE = /^(\d{4}-\d\d-\d\d)\.sqlite$/;
const DAMAGED = /^(\d{4}-\d\d-\d\d)\.sqlite\.damaged-\d+$/;

type ByScript = Parameters<Telemetry['scriptMetrics']>[0];
type ByTenant = Parameters<Telemetry['tenantMetrics']>[0];
type MetricsPoint = Awaited<ReturnType<Telemetry['scriptSeries']>>[number];
type Figures = Omit<MetricsPoint, 'at'>;

interface LineRow {
  readonly id: number;
  readonly at: number;
  readonly scope: string | null;
  readonly vertical: string;
  readonly version: string;
  readonly kind: 'console' | 'exception';
  readonly level: string;
  readonly text: string;
  readonly stack: string | null;
}

interface RequestRow {
  readonly id: number;
  readonly at: number;
  readonly script: string;
  readonly vertical: string;
  readonly version: string;
  readonly tenant: string;
  readonly scope: string;
  readonly operation: string | null;
  readonly status: number;
  readonly duration: number;
  readonly trace: string | null;
}

/** The sums of some minutes, and a name by which they were grouped. */
type Sums = Readonly<Record<string, number | string>> & { readonly name: string };

const SUMS = ['requests', 'refused', 'errors', ...BUCKETS]
  .map((name) => `sum(${name}) AS ${name}`)
  .join(', ');

export class EmbeddedTelemetry implements Telemetry, EgressObserver {
  readonly #options: EmbeddedTelemetryOptions;
  readonly #limits: TelemetryLimits;
  /** Day → its file. Older days are opened when they are asked for, and closed with the rest. */
  readonly #files = new Map<string, DayFile>();
  #logs: LogLine[] = [];
  #egress: EgressCall[] = [];
  readonly #timer: NodeJS.Timeout;
  #dropped = 0;
  #sweptMinute = Number.NaN;
  #isFailing = false;
  /** Vertical → its lines in the present minute. */
  readonly #spoken = new Map<string, number>();
  #spokenMinute = 0;

  constructor(options: EmbeddedTelemetryOptions) {
    this.#options = options;
    this.#limits = { ...TELEMETRY_LIMITS, ...options.limits };
    this.#timer = setInterval(() => this.flush(), WRITE_AFTER_MS).unref();
  }

  /** The number of lines that were dropped since the start: the queue was full, or they could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line of a vertical's own code. A vertical that says too much in a minute is told so once, and then cut. */
  log(line: LogLine): void {
    const said = this.#countOf(line);
    if (said > this.#limits.linesPerMinute + 1) {
      this.#dropped += 1;
      return;
    }
    if (this.#isFull()) return;
    const isLast = said === this.#limits.linesPerMinute + 1;
    const text = `More than ${this.#limits.linesPerMinute} lines in a minute: the rest of this minute is dropped.`;
    this.#logs.push(isLast ? { ...line, kind: 'console', level: 'warn', text, stack: null } : line);
  }

  egress(call: EgressCall): void {
    if (this.#isFull()) return;
    this.#egress.push(call);
  }

  /** Writes what waits. Never throws: what cannot be written is dropped and counted. */
  flush(): void {
    const { lines, dropped } = this.#options.pull();
    this.#dropped += dropped;
    if (lines.length + this.#logs.length + this.#egress.length === 0) return;
    // Asked for each line: the name of a day costs more than the rest of its way here.
    const batches = new Map<number, { served: ServedLine[]; logs: LogLine[]; egress: EgressCall[] }>();
    const of = (atMs: number) => {
      const day = Math.floor(atMs / DAY_MS);
      const known = batches.get(day);
      if (known) return known;
      const batch = { served: [], logs: [], egress: [] };
      batches.set(day, batch);
      return batch;
    };
    for (const line of lines) of(line.atMs).served.push(line);
    for (const line of this.#logs) of(line.atMs).logs.push(line);
    for (const call of this.#egress) of(call.atMs).egress.push(call);
    this.#logs = [];
    this.#egress = [];
    for (const [day, batch] of batches) this.#write(dayOf(day * DAY_MS), batch);
    this.#sweep();
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  /**
   * Removes what is known of a tenant: with the tenant, its measurements go, and every damaged file, since it cannot be
   * searched.
   * @throws PlatformError `unavailable` where a file cannot be opened: something of the tenant may be left in it.
   */
  forgetTenant(tenant: string): void {
    this.flush();
    for (const day of this.#days()) {
      const isDone = this.#in(day, (file) => {
        file.forgetTenant(tenant);
        return true;
      });
      if (isDone === null && existsSync(this.#pathOf(day))) throw notOpen(day);
    }
    for (const { name } of this.#damaged()) rmSync(join(this.#options.folder, name), { force: true });
  }

  async scriptLogs(query: Parameters<Telemetry['scriptLogs']>[0]) {
    const rows = this.#rows<RequestRow>('requests', query, [
      ['script = ?', query.script],
      ['vertical = ?', query.vertical],
      ['status >= ?', query.minStatus],
    ]);
    return pageOf(rows, query.limit, ({ script, ...row }) => ({ script, ...lineOf(row) }));
  }

  async tenantLogs(query: Parameters<Telemetry['tenantLogs']>[0]) {
    const rows = this.#rows<RequestRow>('requests', query, [
      ['tenant = ?', query.tenant],
      ['scope = ?', query.scope],
      ['vertical = ?', query.vertical],
      ['status >= ?', query.minStatus],
    ]);
    return pageOf(rows, query.limit, ({ tenant, scope, ...row }) => ({
      tenant: tenant as TenantId,
      scope: scope as ScopeId,
      ...lineOf(row),
    }));
  }

  async tenantLines(query: Parameters<Telemetry['tenantLines']>[0]) {
    const rows = this.#rows<LineRow>('lines', query, [
      ['tenant = ?', query.tenant],
      ['scope = ?', query.scope],
      ['vertical = ?', query.vertical],
    ]);
    return pageOf(rows, query.limit, ({ at, scope, vertical, version, kind, level, text, stack }) => ({
      at: toTimestamp(at),
      tenant: query.tenant,
      scope: scope as ScopeId | null,
      ...{ vertical, version, kind, level, text, stack },
    }));
  }

  async scriptMetrics(query: ByScript & { readonly limit: number; readonly cursor?: string | undefined }) {
    const groups = this.#sums(query, ofScript(query), "script || ' ' || vertical || ' ' || version");
    return groupPage(groups, query, (name, figures) => {
      const [script = '', vertical = '', version = ''] = name.split(' ');
      return { script, vertical, version, ...figures };
    });
  }

  async tenantMetrics(query: ByTenant & { readonly limit: number; readonly cursor?: string | undefined }) {
    const groups = this.#sums(query, ofTenant(query), "scope || ' ' || vertical");
    return groupPage(groups, query, (name, figures) => {
      const [scope = '', vertical = ''] = name.split(' ');
      return { tenant: query.tenant, scope: scope as ScopeId, vertical, ...figures };
    });
  }

  async scriptSeries(query: Parameters<Telemetry['scriptSeries']>[0]) {
    return this.#series(query, ofScript(query));
  }

  async tenantSeries(query: Parameters<Telemetry['tenantSeries']>[0]) {
    return this.#series(query, ofTenant(query));
  }

  async observed({ vertical, sinceMs, limit }: Parameters<EgressObserver['observed']>[0]) {
    this.flush();
    const hosts = new Map<string, { -readonly [K in keyof ObservedHost]: ObservedHost[K] }>();
    for (const day of this.#daysBetween(sinceMs, Number.POSITIVE_INFINITY)) {
      const rows = this.#all<ObservedHost>(
        day,
        `SELECT version, host, sum(calls) AS calls, max(last_seen) AS lastSeenAtMs FROM egress
           WHERE vertical = ? AND minute >= ? GROUP BY version, host`,
        ...[vertical, sinceMs - MINUTE_MS],
      );
      for (const row of rows) {
        const known = hosts.get(`${row.version} ${row.host}`);
        if (!known) hosts.set(`${row.version} ${row.host}`, { ...row });
        else {
          known.calls += row.calls;
          known.lastSeenAtMs = Math.max(known.lastSeenAtMs, row.lastSeenAtMs);
        }
      }
    }
    const found = [...hosts.values()]
      .filter(({ lastSeenAtMs }) => lastSeenAtMs >= sinceMs)
      .sort((one, other) => other.calls - one.calls);
    return { hosts: found.slice(0, limit), sampled: false, truncated: found.length > limit };
  }

  #rows<Row extends { readonly id: number; readonly at: number }>(
    table: 'requests' | 'lines',
    {
      sinceMs,
      untilMs,
      limit,
      cursor,
    }: { sinceMs: number; untilMs: number; limit: number; cursor?: string | undefined },
    filters: readonly (readonly [string, string | number | undefined])[],
  ): (Row & { readonly day: string })[] {
    this.flush();
    const set = filters.filter((filter): filter is [string, string | number] => filter[1] !== undefined);
    const before = cursorOf(cursor);
    const rows: (Row & { readonly day: string })[] = [];
    for (const day of this.#daysBetween(sinceMs, untilMs).reverse()) {
      if (before && day > before.day) continue;
      const after = before?.day === day ? before : null;
      const where = [
        'at >= ?',
        'at < ?',
        ...set.map(([sql]) => sql),
        ...(after ? ['(at, id) < (?, ?)'] : []),
      ];
      const found = this.#all<Row>(
        day,
        `SELECT * FROM ${table} WHERE ${where.join(' AND ')} ORDER BY at DESC, id DESC LIMIT ?`,
        ...[sinceMs, untilMs, ...set.map(([, value]) => value)],
        ...(after ? [after.atMs, after.id] : []),
        limit + 1 - rows.length,
      );
      rows.push(...found.map((row) => ({ ...row, day })));
      if (rows.length > limit) break;
    }
    return rows;
  }

  #sums(
    { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
    filters: readonly (readonly [string, string | undefined])[],
    name: string,
  ): Map<string, Figures> {
    this.flush();
    const set = filters.filter((filter): filter is [string, string] => filter[1] !== undefined);
    const sums = new Map<string, number[]>();
    for (const day of this.#daysBetween(sinceMs, untilMs)) {
      const rows = this.#all<Sums>(
        day,
        `SELECT ${name} AS name, ${SUMS} FROM minutes
           WHERE ${['minute >= ?', 'minute < ?', ...set.map(([sql]) => sql)].join(' AND ')} GROUP BY name`,
        ...[Math.floor(sinceMs / MINUTE_MS) * MINUTE_MS, untilMs, ...set.map(([, value]) => value)],
      );
      for (const row of rows) {
        const values = ['requests', 'refused', 'errors', ...BUCKETS].map((key) => Number(row[key] ?? 0));
        const known = sums.get(String(row.name));
        sums.set(
          String(row.name),
          known ? known.map((value, index) => value + (values[index] ?? 0)) : values,
        );
      }
    }
    return new Map([...sums].map(([key, values]) => [key, figuresOf(values)]));
  }

  #series(
    query: { sinceMs: number; untilMs: number; stepSeconds: number },
    filters: readonly (readonly [string, string | undefined])[],
  ): MetricsPoint[] {
    const stepMs = query.stepSeconds * 1_000;
    // The minute that the window begins in belongs to the first step.
    const sums = this.#sums(query, filters, `max(0, (minute - ${Math.floor(query.sinceMs)}) / ${stepMs})`);
    const points = Math.ceil((query.untilMs - query.sinceMs) / stepMs);
    return Array.from({ length: points }, (_, index) => ({
      at: toTimestamp(query.sinceMs + index * stepMs),
      ...(sums.get(String(index)) ?? figuresOf([])),
    }));
  }

  #write(day: string, batch: Batch): void {
    const lines = batch.served.length + batch.logs.length + batch.egress.length;
    try {
      const isWritten = this.#in(day, (file) => {
        file.write(batch);
        // Twice what came: a day that is too large shrinks, and no write takes long.
        if (file.bytes > this.#limits.bytesMax) file.trim(2 * lines);
        return true;
      });
      if (isWritten) this.#isFailing = false;
      else this.#dropped += lines;
    } catch (error) {
      this.#dropped += lines;
      this.#report(error, 'write');
    }
  }

  #all<Row>(day: string, sql: string, ...params: readonly SQLInputValue[]): readonly Row[] {
    return this.#in(day, (file) => file.all<Row>(sql, ...params)) ?? [];
  }

  /** Uses the file of a day. Null where it cannot be opened, or turned out to be damaged and was put aside. */
  #in<T>(day: string, task: (file: DayFile) => T): T | null {
    const file = this.#file(day);
    if (!file) return null;
    try {
      return task(file);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      this.#putAside(day, error);
      return null;
    }
  }

  /** One report for as long as it lasts: a full disk would fill the log too. */
  #report(error: unknown, method: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onIncident(error, { kind: 'telemetry', key: 'store', method });
  }

  /** A damaged day is put aside under a name that says so, and begun anew: it is measurements alone. */
  #putAside(day: string, error: unknown): void {
    this.#files.get(day)?.close();
    this.#files.delete(day);
    const path = this.#pathOf(day);
    const aside = `${path}.damaged-${this.#options.now()}`;
    if (existsSync(path)) renameSync(path, aside);
    for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    this.#options.onIncident(
      new Error(
        `The measurements of ${day} were damaged. They were put aside as ${aside}, and are begun anew.`,
        {
          cause: error,
        },
      ),
      { kind: 'telemetry', key: day, method: 'open' },
    );
  }

  #file(day: string): DayFile | null {
    const known = this.#files.get(day);
    if (known) return known;
    try {
      mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 });
      const file = new DayFile(this.#pathOf(day));
      this.#files.set(day, file);
      return file;
    } catch (error) {
      if (!isDamaged(error)) {
        this.#report(error, 'open');
        return null;
      }
      this.#putAside(day, error);
      const file = new DayFile(this.#pathOf(day));
      this.#files.set(day, file);
      return file;
    }
  }

  #pathOf(day: string): string {
    return join(this.#options.folder, `${day}.sqlite`);
  }

  /** Every day that has a file, oldest first. */
  #days(): string[] {
    return this.#names()
      .flatMap((name) => FILE.exec(name)?.[1] ?? [])
      .sort();
  }

  #damaged(): { readonly name: string; readonly day: string }[] {
    return this.#names().flatMap((name) => {
      const [, day] = DAMAGED.exec(name) ?? [];
      return day === undefined ? [] : [{ name, day }];
    });
  }

  #names(): readonly string[] {
    const { folder } = this.#options;
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  #daysBetween(sinceMs: number, untilMs: number): string[] {
    const [first, last] = [dayOf(sinceMs), Number.isFinite(untilMs) ? dayOf(untilMs) : '9999'];
    return this.#days().filter((day) => day >= first && day <= last);
  }

  /** Once a minute: days that are too old, or too much, go. A single day that is too large is trimmed as it is written. */
  #sweep(): void {
    const nowMs = this.#options.now();
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (this.#sweptMinute === minute) return;
    this.#sweptMinute = minute;
    const today = dayOf(nowMs);
    const oldest = dayOf(nowMs - (this.#limits.days - 1) * DAY_MS);
    for (const { name, day } of this.#damaged())
      if (day < oldest) rmSync(join(this.#options.folder, name), { force: true });
    const days = this.#days();
    let bytes = days.reduce((sum, day) => sum + sizeOf(this.#pathOf(day)), 0);
    for (const day of days) {
      if (day >= today || (day >= oldest && bytes <= this.#limits.bytesMax)) continue;
      bytes -= sizeOf(this.#pathOf(day));
      this.#files.get(day)?.close();
      this.#files.delete(day);
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${this.#pathOf(day)}${suffix}`, { force: true });
    }
  }

  #isFull(): boolean {
    if (this.#logs.length + this.#egress.length < this.#limits.waitingMax) return false;
    this.#dropped += 1;
    return true;
  }

  /** By the platform's clock: lines of two minutes that arrive in turns would begin the count anew each time. */
  #countOf({ vertical }: LogLine): number {
    const minute = Math.floor(this.#options.now() / MINUTE_MS);
    if (minute !== this.#spokenMinute) {
      this.#spoken.clear();
      this.#spokenMinute = minute;
    }
    const count = (this.#spoken.get(vertical) ?? 0) + 1;
    this.#spoken.set(vertical, count);
    return count;
  }
}

function ofScript({ script, vertical }: Pick<ByScript, 'script' | 'vertical'>) {
  return [['script = ?', script] as const, ['vertical = ?', vertical] as const];
}

function ofTenant({ tenant, scope, vertical }: Pick<ByTenant, 'tenant' | 'scope' | 'vertical'>) {
  return [
    ['tenant = ?', tenant] as const,
    ['scope = ?', scope] as const,
    ['vertical = ?', vertical] as const,
  ];
}

function lineOf(row: Omit<RequestRow, 'script' | 'tenant' | 'scope'>) {
  const { at, vertical, version, operation, status, duration, trace } = row;
  return { at: toTimestamp(at), vertical, version, operation, status, durationMs: duration, traceId: trace };
}

function figuresOf([requests = 0, refused = 0, errors = 0, ...counts]: readonly number[]): Figures {
  return {
    requests,
    refused,
    errors,
    durationMsP50: quantileOf(counts, 0.5),
    durationMsP95: quantileOf(counts, 0.95),
  };
}

function pageOf<Row extends { readonly id: number; readonly at: number; readonly day: string }, T>(
  rows: readonly Row[],
  limit: number,
  item: (row: Row) => T,
): Page<T> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items: items.map(item), nextCursor: last ? `${last.day}.${last.at}.${last.id}` : null };
}

function groupPage<T>(
  groups: ReadonlyMap<string, Figures>,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
  item: (name: string, figures: Figures) => T,
): Page<T> {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
  const rest = [...groups].filter(([name]) => name > after).sort(([one], [other]) => (one < other ? -1 : 1));
  const items = rest.slice(0, limit);
  const last = rest.length > limit ? items.at(-1)?.[0] : undefined;
  return {
    items: items.map(([name, figures]) => item(name, figures)),
    nextCursor: last === undefined ? null : Buffer.from(last, 'utf8').toString('base64url'),
  };
}

/** @throws PlatformError `validation_failed` for one that was not given out here. */
function cursorOf(cursor: string | undefined): { day: string; atMs: number; id: number } | null {
  if (cursor === undefined) return null;
  const [, day, atMs, id] = /^(\d{4}-\d\d-\d\d)\.(\d+)\.(\d+)$/.exec(cursor) ?? [];
  if (day !== undefined) return { day, atMs: Number(atMs), id: Number(id) };
  throw new PlatformError('validation_failed', 'The cursor is none of this list.', {
    reason: 'cursor_foreign',
    errors: [{ path: 'cursor', message: 'is none of this list' }],
  });
}

function notOpen(day: string): PlatformError {
  return new PlatformError('unavailable', `The measurements of ${day} cannot be opened. Try again.`, {
    reason: 'telemetry_unavailable',
  });
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
function isDamaged(error: unknown): boolean {
  const code = (error as { readonly errcode?: unknown }).errcode;
  return typeof code === 'number' && ((code & 0xff) === 11 || (code & 0xff) === 26);
}
