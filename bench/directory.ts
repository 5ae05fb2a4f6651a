/**
 * The cost of the fleet's size for the control plane: each read and change in a directory of 100,000 and of a million
 * scopes against one of a thousand, where the ratio should be near 1. Then the audit: rows a second against bare rows
 * and hashes, and the time to verify a row. And provisioning, end to end.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '@freehold/contracts';
import { ACTOR, asksOf, perform } from './directory-asks.ts';
import { memoryInChild } from './directory-child.ts';
import { type Fleet, makeFleet, openDirectory, openFleet, VERTICAL } from './directory-fleet.ts';
import { compare, compareRounds, type Row, within } from './harness.ts';
import { openHost } from './notes.ts';

const SMALL = 1_000;
const SIZES = [100_000, 1_000_000];
const CALLERS = 64;
const PROVISIONED = 1_000;

export async function benchDirectory(directory: string): Promise<Row[]> {
  const smallPlan = await makeFleet(join(directory, 'small'), SMALL);
  const smallMemory = await memoryInChild(smallPlan);
  const small = openFleet(smallPlan);
  const rows: Row[] = [];
  for (const size of SIZES) {
    const plan = await makeFleet(join(directory, `fleet-${size}`), size);
    rows.push(memoryRow(size, await memoryInChild(plan), smallMemory));
    const large = openFleet(plan);
    rows.push(...(await benchSize(large, small)), await benchChain(large, small));
    await large.engine.close();
  }
  await small.engine.close();
  return [...rows, ...(await benchAudit(directory)), ...(await benchProvisioning(directory))];
}

/** The memory of a process that has used a directory, beside one that used a small one. */
function memoryRow(size: number, bytes: number, smallBytes: number): Row {
  const ratio = smallBytes / bytes;
  return {
    name: `memory, ${size.toLocaleString('en')} scopes`,
    against: `resident in a process of its own after the reads below, and with ${SMALL.toLocaleString('en')}`,
    ours: bytes,
    peer: smallBytes,
    ratio,
    target: 'at least 0.67×',
    met: ratio >= 0.67,
    shown: [`${(bytes / 1e6).toFixed(0)} MB`, `${(smallBytes / 1e6).toFixed(0)} MB`],
  };
}

/** Verifies a log with a row for each scope, measured per row. */
async function benchChain(large: Fleet, small: Fleet): Promise<Row> {
  const verified =
    ({ hostAdmin, scopes }: Fleet) =>
    async (): Promise<number> => {
      const startedMs = performance.now();
      const { value } = await perform(hostAdmin, 'admin-log.verify', {});
      const { rows, firstBad } = value as { rows: number; firstBad: unknown };
      if (rows < scopes || firstBad !== null) throw new Error(`the log of ${scopes} scopes is not sound`);
      return (1_000 * rows) / (performance.now() - startedMs);
    };
  const name = `verifying the chain, ${large.scopes.toLocaleString('en')} rows`;
  const against = `a row in a log of ${small.scopes.toLocaleString('en')}`;
  return compareRounds({ name, against, ours: verified(large), peer: verified(small), rounds: 3 }, 0.5);
}

async function benchSize(large: Fleet, small: Fleet): Promise<Row[]> {
  const [ours, peer] = [asksOf(large), asksOf(small)];
  const rows: Row[] = [];
  for (const name of Object.keys(ours) as (keyof typeof ours)[]) {
    rows.push(
      await compare(
        {
          name: `${name}, ${large.scopes.toLocaleString('en')} scopes`,
          ours: ours[name],
          peer: peer[name],
          against: `the same with ${small.scopes.toLocaleString('en')}`,
        },
        0.5,
      ),
    );
  }
  return rows;
}

/** Audited changes of many callers against bare rows and hashes, and the verification of the log. */
async function benchAudit(directory: string): Promise<Row[]> {
  const { engine, hostAdmin } = openDirectory(join(directory, 'audit'));
  const bare = openBareAudit(join(directory, 'bare-audit.sqlite'));
  let created = 0;
  const create = (): Promise<unknown> => {
    const slug = `t-${++created}`;
    return perform(hostAdmin, 'tenants.create', { body: { slug, name: slug } });
  };
  const changes = await compare(
    {
      name: `audited changes, ${CALLERS} concurrent callers`,
      ours: () => Promise.all(Array.from({ length: CALLERS }, create)),
      peer: () => bare.write(CALLERS),
      against: 'a row, its audit row and their hashes, bare, in groups of 64',
      batch: CALLERS,
    },
    0.25,
  );
  const verified = async (): Promise<number> => {
    const startedMs = performance.now();
    const { value } = await perform(hostAdmin, 'admin-log.verify', {});
    const { head } = value as { head: { sequence: number } };
    return (1_000 * head.sequence) / (performance.now() - startedMs);
  };
  const verifying = await compareRounds(
    {
      name: 'verifying the chain',
      ours: verified,
      peer: async () => bare.verify(),
      against: 'reading and hashing the same rows, bare',
    },
    0.3,
  );
  await engine.close();
  bare.close();
  return [changes, verifying];
}

interface BareAudit {
  /** Makes so many changes in one commit. */
  write(changes: number): void;
  /** Rows a second. */
  verify(): number;
  close(): void;
}

function openBareAudit(path: string): BareAudit {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE tenants (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, name TEXT NOT NULL, status TEXT NOT NULL,
      created_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE log (sequence INTEGER PRIMARY KEY, entry TEXT NOT NULL, tenant TEXT, action TEXT NOT NULL,
      previous_hash TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
    CREATE INDEX log_tenant ON log (tenant);
    CREATE INDEX log_action ON log (action);`);
  const tenant = db.prepare('INSERT INTO tenants VALUES (?, ?, ?, ?, ?)');
  const row = db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)');
  const all = db.prepare('SELECT sequence, entry, previous_hash, hash FROM log ORDER BY sequence');
  const hashOf = (entry: string): string => createHash('sha256').update(entry).digest('hex');
  let sequence = 0;
  let previous = '';
  return {
    write: (changes) => {
      db.exec('BEGIN IMMEDIATE');
      for (let nth = 0; nth < changes; nth++) {
        sequence += 1;
        const id = `tnt_${sequence}`;
        const now = Date.now();
        tenant.run(id, id, id, 'active', now);
        const entry = canonicalJson({
          sequence,
          at: now,
          actor: ACTOR,
          request: `req_${sequence}`,
          action: 'tenants.create',
          target: { tenant: id },
          after: { slug: id, name: id, status: 'active' },
          outcome: 'done',
          previous,
        });
        const hash = hashOf(entry);
        row.run(sequence, entry, id, 'tenants.create', previous, hash);
        previous = hash;
      }
      db.exec('COMMIT');
    },
    verify: () => {
      const startedMs = performance.now();
      let rows = 0;
      for (const stored of all.iterate()) {
        const { entry, hash } = stored as { entry: string; hash: string };
        if (hashOf(canonicalJson(JSON.parse(entry))) !== hash)
          throw new Error('a bare row is not as it was written');
        rows += 1;
      }
      return (1_000 * rows) / (performance.now() - startedMs);
    },
    close: () => db.close(),
  };
}

/** A tenant and its scope, provisioned in a co-located vertical, with every migration of its database. */
async function benchProvisioning(directory: string): Promise<Row[]> {
  const vertical = openHost(join(directory, 'vertical'));
  const { engine, hostAdmin } = openDirectory(join(directory, 'provisioning'), vertical.host);
  let made = 0;
  const provision = async (): Promise<void> => {
    const slug = `t-${++made}`;
    const { value } = await perform(hostAdmin, 'tenants.create', { body: { slug, name: slug } });
    const { id } = value as { id: string };
    const body = { slug: 'main', name: 'Main', vertical: VERTICAL, kind: 'production' };
    await perform(hostAdmin, 'scopes.provision', { params: { tenant: id }, body });
  };
  const startedMs = performance.now();
  for (let nth = 0; nth < PROVISIONED / 10; nth++) await Promise.all(Array.from({ length: 10 }, provision));
  const ms = (performance.now() - startedMs) / PROVISIONED;
  const one = await within('provisioning a tenant, one at a time', 50, provision);
  await engine.close();
  await vertical.engine.close();
  const name = `provisioning ${PROVISIONED.toLocaleString('en')} tenants, 10 at once`;
  return [
    {
      name,
      against: 'tenant, scope, its database and audit rows',
      ours: 1_000 / ms,
      peer: null,
      ratio: null,
      target: 'under 25 ms',
      met: ms < 25,
    },
    one,
  ];
}
