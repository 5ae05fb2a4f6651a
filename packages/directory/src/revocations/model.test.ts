/**
 * Restores over random histories against a model. The model has no log and no floors: a restore allows what the backup
 * allowed, and of each thing that a change set since, no more than its newest change did (spec C-19).
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beginHistory, type History, histories, takeStep } from '../../test/histories.ts';

type Database = Parameters<Parameters<History['platform']['look']>[0]>[0];
/** The permissions of each thing. */
type Allowed = ReadonlyMap<string, ReadonlySet<string>>;

/** Each row is one thing and what it allows. Of states with an order, the lesser ones are allowed too. */
const ALLOWED = `
  SELECT 'tenant ' || tenants.id AS thing, value AS allows FROM tenants, json_each(CASE status
    WHEN 'active' THEN '["there", "serves", "signs in"]' WHEN 'suspended' THEN '["there", "serves"]'
    WHEN 'deleting' THEN '["there"]' ELSE '[]' END)
  UNION ALL SELECT 'scope ' || scopes.id, value || ' ' || tenant FROM scopes, json_each(CASE status
    WHEN 'active' THEN '["there", "writes", "signs in"]' WHEN 'suspended' THEN '["there", "writes"]'
    WHEN 'archived' THEN '["there"]' ELSE '[]' END)
  UNION ALL SELECT 'hostname ' || hostname || ' ' || tenant, value || ' ' || scope FROM hostnames, json_each(CASE status
    WHEN 'active' THEN '["claimed", "proven", "served"]' WHEN 'disabled' THEN '["claimed", "proven"]'
    ELSE '["claimed"]' END)
  UNION ALL SELECT 'identity ' || tenant || ' ' || kind || ' ' || issuer || ' ' || value, 'there' FROM tenant_identities
  UNION ALL SELECT 'grant ' || vertical || ' ' || name, 'there' FROM platform_grants
  UNION ALL SELECT 'role ' || r.key, p.value FROM roles r, json_each(json_insert(r.permissions, '$[#]', 'there')) p
  UNION ALL SELECT 'install ' || slug, 'allowed' FROM verticals WHERE slug NOT IN (SELECT vertical FROM install_blocks)
  UNION ALL SELECT 'version ' || id, 'admitted' FROM vertical_versions WHERE status = 'admitted'
  UNION ALL SELECT 'listing ' || slug, value FROM verticals, json_each(CASE tier
    WHEN 'published' THEN '["found", "opened"]' WHEN 'unlisted' THEN '["opened"]' ELSE '[]' END)
  UNION ALL SELECT 'snapshot ' || scope || ' ' || id, 'there' FROM snapshots
  UNION ALL SELECT 'entitlement ' || tenant || ' ' || entitlements.key, 'quota ' || n.value FROM entitlements,
    json_each('[-1, 0, 1, 2, 3, 4, 5, 6]') n WHERE n.value <= coalesce(quota, 6)
  UNION ALL SELECT 'entitlement ' || tenant || ' ' || entitlements.key, 'until ' || t.value FROM entitlements,
    json_each('[0, 1798761600000, 1830297600000, 9999999999999]') t WHERE t.value <= coalesce(expires_at, 9999999999999)`;

function allowedIn(database: Database): Allowed {
  const allowed = new Map<string, Set<string>>();
  for (const { thing, allows } of database.prepare(ALLOWED).all()) {
    const set = allowed.get(String(thing)) ?? new Set();
    allowed.set(String(thing), set.add(String(allows)));
  }
  return allowed;
}

/** Things that were stated anew without a change of what is allowed: a listing with another text, for example. */
const RESTATED = `
  SELECT CASE action WHEN 'listings.put' THEN 'listing ' || vertical WHEN 'roles.put' THEN 'role ' || other
    WHEN 'entitlements.put' THEN 'entitlement ' || tenant || ' ' || other
    ELSE 'hostname ' || other || ' ' || tenant END AS thing
  FROM admin_log WHERE sequence > ? AND outcome = 'done' AND (action IN ('listings.put', 'roles.put', 'entitlements.put')
    OR action IN ('hostnames.bind', 'hostnames.set-status', 'hostnames.verify'))`;

const logHeadIn = (database: Database): number =>
  Number(database.prepare('SELECT max(sequence) AS head FROM admin_log').get()?.head);

/** Tokens that work for ever less, members, and connections that work: what is gone of these never comes back. */
const WORKING = `
  SELECT 'token ' || id AS id FROM tokens WHERE revoked_at IS NULL
  UNION ALL SELECT 'member ' || id FROM staff
  UNION ALL SELECT 'connection ' || id FROM connections WHERE state <> 'disconnected'
  UNION ALL SELECT 'credential ' || connection || ' ' || fingerprint FROM connection_credentials`;
const PERMANENT = /^(?:token|member|connection) /;

const workingIn = (database: Database): ReadonlySet<string> =>
  new Set(
    database
      .prepare(WORKING)
      .all()
      .map(({ id }) => String(id)),
  );

const NOTHING: ReadonlySet<string> = new Set();
type Texts = ReadonlySet<string>;
const without = (a: Texts, b: Texts): Texts => new Set([...a].filter((each) => !b.has(each)));
const both = (a: Texts, b: Texts): Texts => new Set([...a].filter((each) => b.has(each)));
const isSame = (a: Texts, b: Texts): boolean => a.size === b.size && both(a, b).size === a.size;

/** A history with what the model remembers of it. */
class Model {
  readonly history: History;
  /** Of each thing its newest change: after how many steps, and what it allowed then. */
  readonly #changes = new Map<string, { readonly step: number; readonly allowed: ReadonlySet<string> }>();
  readonly #backups = new Map<string, { readonly step: number; readonly allowed: Allowed }>();
  readonly #gone = new Set<string>();
  #step = 0;

  constructor(history: History) {
    this.history = history;
    const [empty, full] = history.backups;
    if (!empty || !full) throw new Error('a history begins with two backups');
    const allowed = history.platform.look(allowedIn);
    this.#backups.set(full.id, { step: 0, allowed });
    // Before anything was made there were two verticals, which every tenant could install.
    const installs = [...allowed].filter(([thing]) => thing.startsWith('install '));
    this.#backups.set(empty.id, { step: 0, allowed: new Map(installs) });
  }

  async take(step: Parameters<typeof takeStep>[1]): Promise<void> {
    const { platform, backups, restored } = this.history;
    const [before, worked, restores] = [platform.look(allowedIn), platform.look(workingIn), restored.length];
    const head = platform.look(logHeadIn);
    await takeStep(this.history, step);
    this.#step += 1;
    const after = platform.look(allowedIn);
    const result = restored.length > restores ? restored.at(-1) : undefined;
    if (result) {
      expect(after).toEqual(this.#expected(result.backup));
      expect([...both(platform.look(workingIn), this.#gone)]).toEqual([]);
      return;
    }
    for (const thing of new Set([...before.keys(), ...after.keys()])) {
      const [was, allowed] = [before.get(thing) ?? NOTHING, after.get(thing) ?? NOTHING];
      if (!isSame(was, allowed)) this.#changes.set(thing, { step: this.#step, allowed });
    }
    const restated = platform.look((database) => database.prepare(RESTATED).all(head));
    for (const { thing } of restated)
      this.#changes.set(String(thing), { step: this.#step, allowed: after.get(String(thing)) ?? NOTHING });
    for (const id of without(worked, platform.look(workingIn))) if (PERMANENT.test(id)) this.#gone.add(id);
    const newest = backups.at(-1);
    if (newest && !this.#backups.has(newest.id))
      this.#backups.set(newest.id, { step: this.#step, allowed: after });
  }

  #expected(id: string): Allowed {
    const backup = this.#backups.get(id);
    if (!backup) throw new Error('the model knows every backup');
    const expected = [...backup.allowed].map(([thing, allowed]) => {
      const change = this.#changes.get(thing);
      const bound = change && change.step > backup.step ? both(allowed, change.allowed) : allowed;
      return [thing, bound] as const;
    });
    return withoutOrphans(new Map(expected.filter(([, allowed]) => allowed.size > 0)));
  }
}

/** The things of a reaped tenant or scope are gone too, also where an earlier restore had lost them. */
function withoutOrphans(allowed: Allowed): Allowed {
  const isGone = (id: string): boolean => !allowed.has(`${id.startsWith('tnt_') ? 'tenant' : 'scope'} ${id}`);
  const allowedAfter = [...allowed].map(([thing, allows]) => {
    const own = /^(?:tenant|scope) /.test(thing) ? '' : thing;
    const left = [...allows].filter(
      (each) => !(`${own} ${each}`.match(/(?:tnt|scp)_\w+/g) ?? []).some(isGone),
    );
    return [thing, new Set(left)] as const;
  });
  const left = new Map(allowedAfter.filter(([, allows]) => allows.size > 0));
  return left.size === allowed.size ? left : withoutOrphans(left);
}

/** More of them by hand: `HISTORIES=1000`. */
const RUNS = Number(process.env.HISTORIES ?? 5);

test(
  'spec C-19: a restore allows what the backup did, and no more than the newest change of each thing since',
  async () => {
    await fc.assert(
      fc.asyncProperty(histories(40), async (steps) => {
        const model = new Model(await beginHistory());
        for (const step of steps) await model.take(step);
        await model.take({ verb: 'restore', pick: [1, 1, 1] });
        await model.history.platform.close();
        expect(model.history.platform.incidents).toEqual([]);
      }),
      { numRuns: RUNS, endOnFailure: process.env.HISTORIES !== undefined },
    );
  },
  RUNS * 5_000,
);
