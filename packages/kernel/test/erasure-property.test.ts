/**
 * Random histories of scopes and their vault (spec C-20): creating, rolling back, rewinding, undoing, restoring, copying
 * into another scope, erasing, dying between any two steps, and a vault that is restored from its archive. Beside them
 * stands the simplest model there is: who was erased where. What must hold:
 * - no value of an erased person opens, neither in the scope nor with any key that the vault still has;
 * - every other value opens;
 * - no key is two subjects'.
 *
 * `FREEHOLD_SEED` repeats a run; `FREEHOLD_LONG=1` makes many more.
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PlatformError, type PrincipalId, type ScopeId, type TenantId } from '@freehold/contracts';
import { makeKeyring, open as openSealed } from '@freehold/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineOperations,
  defineVertical,
  ledgerUnit,
  makeScopeHost,
  makeScopeUnit,
  makeUnitLedger,
  makeUnitVault,
  makeVaultUnit,
  operation,
  type ScopeHost,
} from '../src/index.ts';
import {
  type Life,
  newLife,
  openSmallEngine,
  type SmallEngine,
  step,
  unitPath,
  type World,
} from './small-engine.ts';

const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const IS_LONG = process.env.FREEHOLD_LONG !== undefined;
const RUNS = Number(process.env.FREEHOLD_RUNS ?? (IS_LONG ? 3_000 : 60));

const tenant = 'tnt_01j00000000000000000000001' as TenantId;
const owner = 'prn_01j00000000000000000000001' as PrincipalId;
const SCOPES = ['scp_01j00000000000000000000001', 'scp_01j00000000000000000000002'] as ScopeId[];
const keyring = makeKeyring(['a sealing key that is long enough for a test']);

/** The origin of the person of a `person/create`. */
const MODES = ['plain', 'throws', 'undone', 'undone-then-sealed', 'sealed-twice', 'family'] as const;
type Mode = (typeof MODES)[number];

const place = (id: string): string => `notes.sealed/${id}`;

const vertical = defineVertical({
  manifest: {
    slug: 'people',
    name: 'People',
    version: '1.0.0',
    permissions: { 'people.all': 'everything about people' },
    roles: { owner: { name: 'Owner', permissions: ['people.all'] } },
    ownerRole: 'owner',
    entities: { person: {} },
    env: {},
  },
  migrations: [
    {
      version: 1,
      name: 'notes',
      sql: `CREATE TABLE notes (id TEXT PRIMARY KEY, person TEXT NOT NULL, clear TEXT NOT NULL, sealed TEXT NOT NULL) STRICT;
        CREATE TABLE names (person TEXT PRIMARY KEY) STRICT`,
    },
  ],
  operations: defineOperations({
    'person/create': operation({
      summary: 'Make a person, or begin to',
      input: z.strictObject({ mode: z.enum(MODES) }),
      output: z.array(z.string()),
      permission: 'people.all',
      newSubjects: ({ mode }) => (mode === 'family' ? 6 : 2),
      run: (ctx, { mode }) => {
        const make = (person: string): void => {
          ctx.invoke('note/write', { person });
        };
        const family = Array.from({ length: mode === 'family' ? 6 : 1 }, () => ctx.newId('cus'));
        const undone = (person: string): void => {
          try {
            ctx.sql.savepoint(() => {
              make(person);
              throw new PlatformError('conflict', 'Not this one.');
            });
          } catch (error) {
            if (!(error instanceof PlatformError)) throw error;
          }
        };
        for (const person of family) {
          if (mode.startsWith('undone')) undone(person);
          if (mode !== 'undone') make(person);
          if (mode === 'sealed-twice') make(person);
        }
        if (mode === 'throws') throw new PlatformError('conflict', 'Not after all.');
        return family;
      },
    }),
    'note/write': operation({
      summary: 'Note something about a person',
      input: z.strictObject({ person: z.string() }),
      output: z.null(),
      permission: 'people.all',
      subjects: ({ person }) => [person],
      run: (ctx, { person }) => {
        const id = ctx.newId('not');
        const clear = `about ${person} in ${id}`;
        ctx.sql.run('INSERT OR IGNORE INTO names (person) VALUES (?)', person);
        ctx.sql.run(
          'INSERT INTO notes (id, person, clear, sealed) VALUES (?, ?, ?, ?)',
          id,
          person,
          clear,
          ctx.seal(person, place(id), clear),
        );
        ctx.emit({
          type: 'person.noted',
          entity: { type: 'person', id: 'p' },
          piiClass: 'direct',
          subject: person,
          payload: { person, clear },
        });
        return null;
      },
    }),
    'note/all': operation({
      summary: 'Everything that is noted, opened',
      input: z.strictObject({}),
      output: z.array(z.strictObject({ person: z.string(), clear: z.string(), opened: z.unknown() })),
      permission: 'people.all',
      readOnly: true,
      subjects: (_, read) =>
        read.all<{ person: string }>('SELECT DISTINCT person FROM notes').map(({ person }) => person),
      run: (ctx) =>
        ctx.sql
          .all<{ id: string; person: string; clear: string; sealed: string }>(
            'SELECT * FROM notes ORDER BY id',
          )
          .map(({ id, person, clear, sealed }) => ({
            person,
            clear,
            opened: ctx.unseal(person, place(id), sealed),
          })),
    }),
    'person/names': operation({
      summary: 'Who is kept in clear',
      input: z.strictObject({}),
      output: z.array(z.string()),
      permission: 'people.all',
      readOnly: true,
      run: (ctx) => ctx.sql.all<{ person: string }>('SELECT person FROM names').map(({ person }) => person),
    }),
    'person/all': operation({
      summary: 'Of whom something is noted',
      input: z.strictObject({}),
      output: z.array(z.string()),
      permission: 'people.all',
      readOnly: true,
      run: (ctx) =>
        ctx.sql.all<{ person: string }>('SELECT DISTINCT person FROM notes').map(({ person }) => person),
    }),
  }),
  onShred: ({ sql }, person) => sql.run('DELETE FROM names WHERE person = ?', person),
  reseal: ({ sql, reseal }) => {
    for (const { id, person, sealed } of sql.all<{ id: string; person: string; sealed: string }>(
      'SELECT id, person, sealed FROM notes',
    )) {
      const anew = reseal(person, place(id), sealed);
      if (anew === null) sql.run('DELETE FROM notes WHERE id = ?', id);
      else sql.run('UPDATE notes SET sealed = ? WHERE id = ?', anew, id);
    }
  },
});
const unit = makeScopeUnit(vertical);
const vaultUnit = makeVaultUnit(keyring);

type Act =
  | { readonly do: 'create'; readonly mode: Mode }
  | { readonly do: 'together'; readonly modes: readonly Mode[]; readonly who: number }
  | { readonly do: 'note' | 'erase'; readonly who: number }
  | { readonly do: 'mark' | 'undo' | 'check' | 'evict' | 'restart' | 'tick' | 'archive' | 'loseVault' }
  | { readonly do: 'rewind' | 'rewindMeanwhile'; readonly to: number }
  | { readonly do: 'export' }
  | { readonly do: 'restore' | 'moveIn'; readonly which: number };

interface Command {
  readonly scope: number;
  readonly act: Act;
  /** After so many steps of it the process dies; null: it lives on. */
  readonly dies: number | null;
}

const who = fc.nat({ max: 20 });
const mode = fc.constantFrom(...MODES);
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('create' as const), mode }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      modes: fc.array(mode, { minLength: 2, maxLength: 4 }),
      who,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('note' as const), who }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('erase' as const), who }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'mark',
        'mark',
        'undo',
        'check',
        'evict',
        'restart',
        'tick',
        'archive',
        'loseVault',
      ) as fc.Arbitrary<'mark' | 'undo' | 'check' | 'evict' | 'restart' | 'tick' | 'archive' | 'loseVault'>,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('rewind' as const, 'rewindMeanwhile' as const), to: who }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('export' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('restore' as const, 'moveIn' as const), which: who }),
  },
);
const command: fc.Arbitrary<Command> = fc.record({
  scope: fc.constantFrom(0, 0, 0, 1),
  act,
  dies: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat({ max: 14 }) }),
});

/** One scope, as the model has it. */
interface Known {
  readonly ref: { readonly tenantId: TenantId; readonly scopeId: ScopeId };
  readonly erased: Set<string>;
  /** Every person who was ever noted here, in any state. */
  readonly seen: Set<string>;
  readonly marks: string[];
  undo: string | null;
  readonly exports: Uint8Array[];
}

interface Process {
  readonly life: Life;
  readonly engine: SmallEngine;
  readonly host: ScopeHost;
  readonly timers: (() => void)[];
}

class History {
  readonly #world: World;
  readonly #scopes: Known[];
  #process: Process;
  #ms = Date.UTC(2026, 0, 1);

  constructor(directory: string) {
    this.#world = {
      directory,
      now: () => {
        this.#ms += 1;
        return this.#ms;
      },
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    };
    this.#scopes = SCOPES.map((scopeId) => ({
      ref: { tenantId: tenant, scopeId },
      erased: new Set(),
      // Some are not made here: their keys are made by the vault when something is first noted about them.
      seen: new Set(['vis_1', 'vis_2', 'vis_3']),
      marks: [],
      undo: null,
      exports: [],
    }));
    this.#process = this.#start();
  }

  get #archive(): string {
    return join(this.#world.directory, 'archive', 'vault');
  }

  #start(): Process {
    const life = newLife(null);
    const engine = openSmallEngine(this.#world, life);
    const timers: (() => void)[] = [];
    const ledger = makeUnitLedger((tenantId, options) => engine.unit(ledgerUnit, tenantId, options));
    const vault = makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true }), {
      ledger,
      now: this.#world.now,
      archived: async () => {
        await step(life);
        engine.copyOf(vaultUnit, tenant, this.#archive);
        await step(life);
      },
    });
    const host = makeScopeHost({
      engine,
      unit,
      vault,
      now: this.#world.now,
      random: this.#world.random,
      after: (ms, task) => {
        // A call that waits for a frozen pool must get on by itself.
        if (ms === 20) setImmediate(task);
        else timers.push(task);
      },
    });
    return { life, engine, host, timers };
  }

  async begin(): Promise<void> {
    for (const { ref } of this.#scopes) {
      await this.#process.host.provisionScopeLocal({ ...ref, name: 'People' });
      await this.#process.host
        .scope(ref.scopeId)
        .assignRole({ principal: owner, role: 'owner', by: 'platform' });
    }
  }

  #die(): void {
    this.#process.engine.crash();
    this.#process = this.#start();
  }

  #run<T>({ ref }: Known, name: string, input: unknown): Promise<T> {
    return this.#process.host
      .scope(ref.scopeId)
      .invoke({ principal: owner, operation: name, input })
      .then(({ output }) => output as T);
  }

  async perform({ scope, act, dies }: Command): Promise<void> {
    const known = this.#scopes[scope] as Known;
    const { life } = this.#process;
    life.stepsLeft = dies;
    const outcome = await Promise.race([
      this.#act(known, act).then(() => 'done' as const),
      life.died.then(() => 'died' as const),
    ]);
    life.stepsLeft = null;
    if (outcome === 'done' && !life.isDead) return;
    this.#die();
    // An erasure that was not answered is asked for again, as the directory does.
    if (act.do === 'erase') await this.#act(known, act);
  }

  async #act(known: Known, act: Act): Promise<void> {
    const { host, engine, timers } = this.#process;
    const { ref } = known;
    switch (act.do) {
      case 'create':
        await this.#create(known, act.mode);
        return;
      case 'together':
        await Promise.all([
          ...act.modes.map((each) => this.#create(known, each)),
          this.#note(known, act.who),
        ]);
        return;
      case 'note':
        await this.#note(known, act.who);
        return;
      case 'erase': {
        await this.#look(known);
        const person = pick([...known.seen], act.who);
        if (person === undefined) return;
        const receipt = await host.shredSubjectLocal({ ...ref, subject: person });
        known.erased.add(person);
        this.#judgeVault();
        expect(await host.shredSubjectLocal({ ...ref, subject: person })).toEqual(receipt);
        return;
      }
      case 'mark': {
        const { bookmark } = await host.snapshotScopeLocal({ ...ref, name: 'a mark' });
        if (bookmark) known.marks.push(bookmark);
        return;
      }
      case 'rewind':
      case 'rewindMeanwhile': {
        const bookmark = pick(known.marks, act.to);
        if (bookmark === undefined) return;
        const meanwhile =
          act.do === 'rewind' ? [] : [this.#create(known, 'plain'), this.#create(known, 'family')];
        const [{ undo }] = await Promise.all([host.rewindScopeLocal({ ...ref, bookmark }), ...meanwhile]);
        known.undo = undo;
        return;
      }
      case 'undo': {
        if (known.undo === null) return;
        const { undo } = await host.rewindScopeLocal({ ...ref, bookmark: known.undo });
        known.undo = undo;
        return;
      }
      case 'export': {
        const { body } = await host.exportScopeLocal(ref);
        known.exports.push(new Uint8Array(await new Response(body).arrayBuffer()));
        return;
      }
      case 'restore': {
        const bytes = pick(known.exports, act.which);
        if (bytes) await this.#restore(known, bytes);
        return;
      }
      case 'moveIn': {
        const other = this.#scopes.find((each) => each !== known) as Known;
        const bytes = pick(other.exports, act.which);
        if (bytes) await this.#restore(known, bytes);
        return;
      }
      case 'archive':
        if (existsSync(unitPath(this.#world, 'vault', tenant)))
          engine.copyOf(vaultUnit, tenant, this.#archive);
        return;
      case 'loseVault':
        this.#loseVault();
        return;
      case 'evict':
        engine.evict(unit, ref.scopeId);
        return;
      case 'restart':
        await engine.close();
        this.#process = this.#start();
        return;
      case 'tick':
        for (const task of timers.splice(0)) task();
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
        return;
      case 'check':
        await this.#check(known);
    }
  }

  async #create(known: Known, how: Mode): Promise<void> {
    const made = await this.#run<string[]>(known, 'person/create', { mode: how }).catch(
      expected(['conflict']),
    );
    for (const person of made ?? []) known.seen.add(person);
  }

  async #note(known: Known, index: number): Promise<void> {
    const person = pick([...known.seen], index);
    if (person === undefined) return;
    const { erased } = known;
    const isErased = erased.has(person);
    const written = await this.#run(known, 'note/write', { person }).then(
      () => true,
      (error: unknown) => {
        expected(['conflict'])(error);
        return false;
      },
    );
    expect(written).toBe(!isErased);
  }

  async #restore(known: Known, bytes: Uint8Array): Promise<void> {
    await this.#process.host.restoreScopeLocal(
      { ...known.ref, format: 'sqlite' },
      new Response(bytes as never).body as ReadableStream<Uint8Array>,
    );
    known.undo = null;
  }

  /** The machine lost the vault, and has it again as it was last archived. */
  #loseVault(): void {
    if (!existsSync(this.#archive)) return;
    this.#process.engine.crash();
    const path = unitPath(this.#world, 'vault', tenant);
    for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    copyFileSync(this.#archive, path);
    this.#process = this.#start();
  }

  async #look(known: Known): Promise<void> {
    for (const person of await this.#run<string[]>(known, 'person/all', {})) known.seen.add(person);
  }

  async #check(known: Known): Promise<void> {
    await this.#look(known);
    const notes = await this.#run<{ person: string; clear: string; opened: unknown }[]>(
      known,
      'note/all',
      {},
    );
    for (const { person, clear, opened } of notes)
      expect(opened).toBe(known.erased.has(person) ? null : clear);
    for (const person of await this.#run<string[]>(known, 'person/names', {}))
      expect(known.erased.has(person)).toBe(false);
    const history = { entity: { type: 'person', id: 'p' }, limit: 200 };
    const { items } = await this.#process.host.scope(known.ref.scopeId).history(history);
    for (const { subject, payload } of items) {
      if (known.erased.has(subject as string)) expect(payload).toMatchObject({ $shredded: {} });
      // A person who was erased at the source of a copy is gone from it; no other person is.
      else if ('$shredded' in (payload as object))
        expect(this.#isErasedElsewhere(known, subject as string)).toBe(true);
      else expect(payload).toMatchObject({ person: subject });
    }
  }

  #isErasedElsewhere(known: Known, person: string): boolean {
    return this.#scopes.some((each) => each !== known && each.erased.has(person));
  }

  async end(): Promise<void> {
    this.#die();
    for (const known of this.#scopes) await this.#check(known);
    for (const task of this.#process.timers.splice(0)) task();
    expect(this.#process.engine.incidents).toEqual([]);
    await this.#process.engine.close();
    this.#judgeVault();
  }

  /** Looks at the vault's file itself: whose keys are there, and what they open of all that was ever copied. */
  #judgeVault(): void {
    const path = unitPath(this.#world, 'vault', tenant);
    if (!existsSync(path)) return;
    const vault = new DatabaseSync(path, { readOnly: true });
    const live = vault
      .prepare(
        `SELECT scope_id AS scope, subject, wrapped, 'vault/' || ? || '/' || scope_id || '/' || subject AS place
           FROM subject_keys JOIN key_slots USING (slot)
         UNION ALL
         SELECT scope_id, subject, wrapped, 'vault-key/' || ? || '/' || scope_id || '/' || key_id
           FROM pool_keys JOIN key_slots USING (slot)`,
      )
      .all(tenant, tenant) as { scope: string; subject: string | null; wrapped: string; place: string }[];
    vault.close();
    const keys = live.map(({ place: at, wrapped }) => keyring.open(at, wrapped) as string);
    expect(keys).not.toContain(null);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { scope, subject } of live)
      if (subject !== null) expect(this.#erasedIn(scope).has(subject)).toBe(false);
    for (const { scope, person, id, sealed } of this.#everySealedNote()) {
      const isErased = this.#erasedIn(scope).has(person);
      if (!isErased) continue;
      for (const key of keys)
        expect(
          openSealed(Buffer.from(key, 'base64url'), `${scope}/${person}/value/${place(id)}`, sealed),
        ).toBeNull();
    }
  }

  #erasedIn(scope: string): ReadonlySet<string> {
    return this.#scopes.find(({ ref }) => ref.scopeId === scope)?.erased ?? new Set();
  }

  /** Of every state that was ever copied or is there now. */
  *#everySealedNote(): Iterable<{ scope: string; person: string; id: string; sealed: string }> {
    const copies = join(this.#world.directory, 'copies');
    const files = [
      ...SCOPES.map((scope) => unitPath(this.#world, unit.kind, scope)),
      ...(existsSync(copies) ? readdirSync(copies).map((name) => join(copies, name)) : []),
    ].filter((path) => existsSync(path) && !/-(wal|shm)$/.test(path));
    for (const path of files) {
      const database = new DatabaseSync(path, { readOnly: true });
      const rows = database
        .prepare('SELECT scope_id AS scope, person, id, sealed FROM notes, _spine_scope')
        .all() as { scope: string; person: string; id: string; sealed: string }[];
      database.close();
      yield* rows;
    }
  }
}

function pick<T>(from: readonly T[], index: number): T | undefined {
  return from[index % Math.max(1, from.length)];
}

/** Failures that a command may have. */
function expected(codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof PlatformError && codes.includes(error.code)) return undefined;
    throw error;
  };
}

test('C-20: whatever happens to a scope and its vault, an erased person stays erased, and no other person is', {
  timeout: 3_600_000,
}, async () => {
  const seed = process.env.FREEHOLD_SEED === undefined ? {} : { seed: Number(process.env.FREEHOLD_SEED) };
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 8, maxLength: 40, size: 'max' }), async (commands) => {
      const directory = mkdtempSync(join(MEMORY, 'freehold-erasures-'));
      try {
        const history = new History(directory);
        await history.begin();
        for (const each of commands) await history.perform(each);
        await history.end();
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: RUNS, ...seed },
  );
});
