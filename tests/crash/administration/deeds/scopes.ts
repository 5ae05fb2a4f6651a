/** Mutations of scopes: their states, their copies, and calls to their applications. */
import type { BackupRecord, HostnameRecord } from '../../../../packages/directory/src/admin-operations.ts';
import { ask, type Bench, type CallParts, type Deed } from '../bench.ts';
import {
  CARRIED_OUT,
  noBackupFile,
  noRow,
  noRowIn,
  noUnit,
  row,
  rowIn,
  THIS_REQUEST,
} from '../conditions.ts';
import { newScope, newTenant } from './tenants.ts';

type At = Awaited<ReturnType<typeof newScope>>;

const scope =
  (make: (bench: Bench, at: At) => ReturnType<Deed>): Deed =>
  async (bench) =>
    make(bench, await newScope(bench));

/** Makes a library scope with a librarian. */
async function newLibrary(bench: Bench): Promise<At> {
  const at = await newScope(bench, { vertical: 'library' });
  await bench.platform.library.admit(at.scope);
  return at;
}

const shelve = ({ platform }: Bench, at: At, title: string) =>
  platform.library.ask<{ book: string }>(at.scope, 'book/add', { title });

async function newBackup(bench: Bench, at: At): Promise<BackupRecord> {
  const { result } = await bench.finish('scope-backups.create', { params: at, body: {} });
  return result as unknown as BackupRecord;
}

/** Binds a host name of the platform to it. */
async function withHostname(bench: Bench, at: At): Promise<string> {
  const hostname = `${bench.name('h')}.apps.example`;
  await bench.value('hostnames.bind', { body: { hostname, ...at } });
  return hostname;
}

const libraryUnit = (at: At) => `scope-library/${at.scope}`;
const NO_LETTER = '_spine_dead_letters WHERE event = ?';

/** The backup that one request ordered: others come and go beside it. */
const MADE_BY = `admin_log l JOIN backups b ON b.id = json_extract(l.after, '$.backup')
  WHERE l.action = 'directory-backups.create' AND l.outcome = 'intent' AND l.request IN (?, ? || '-again')`;

export const scopeDeeds = {
  'scopes.provision': async (bench) => {
    const tenant = await newTenant(bench);
    const slug = bench.name('s');
    return {
      params: { tenant },
      body: { slug, name: 'Made', vertical: 'fieldwork', config: { NOTE: slug } },
      effect: [
        row(`scopes WHERE slug = ? AND status = 'active'`, slug),
        rowIn(`identity/${tenant}`, `config WHERE key = 'NOTE'`),
      ],
    };
  },
  'scopes.set-status': scope(async (_bench, at) => ({
    params: at,
    body: { status: 'suspended' },
    effect: [row(`scopes WHERE id = ? AND status = 'suspended'`, at.scope)],
  })),
  'scopes.configure': scope(async (_bench, at) => ({
    params: at,
    body: { config: { NOTE: 'Ring twice.' } },
    effect: [rowIn(`identity/${at.tenant}`, `config WHERE scope_id = ? AND key = 'NOTE'`, at.scope)],
  })),
  'scopes.reap': scope(async (bench, at) => ({
    ...(await archived(bench, at)),
    effect: [
      row(`scopes WHERE id = ? AND status = 'reaped'`, at.scope),
      row('backups WHERE scope = ?', at.scope),
      noUnit(`scope-fieldwork/${at.scope}`),
    ],
  })),
  'scopes.restore': async (bench) => {
    const at = await newLibrary(bench);
    await shelve(bench, at, 'before');
    const { id } = await newBackup(bench, at);
    await shelve(bench, at, 'after');
    return {
      params: at,
      body: { from: { backup: id } },
      effect: [noRowIn(libraryUnit(at), `books WHERE title = 'after'`)],
    };
  },
  'scopes.rewind': async (bench) => {
    const at = await newLibrary(bench);
    await shelve(bench, at, 'before');
    const { bookmark } = await bench.value<{ bookmark: string }>('snapshots.take', { params: at, body: {} });
    await shelve(bench, at, 'after');
    return {
      params: at,
      body: { bookmark },
      effect: [noRowIn(libraryUnit(at), `books WHERE title = 'after'`)],
    };
  },
  'snapshots.take': scope(async (_bench, at) => ({
    params: at,
    body: { name: 'before' },
    effect: [row(`snapshots WHERE scope = ?`, at.scope)],
  })),
  'snapshots.delete': scope(async (bench, at) => {
    const { id } = await bench.value('snapshots.take', { params: at, body: {} });
    return { params: { ...at, snapshot: id }, effect: [noRow('snapshots WHERE id = ?', id)] };
  }),
  'scope-backups.create': scope(async (_bench, at) => ({
    params: at,
    body: {},
    effect: [row('backups WHERE scope = ?', at.scope)],
  })),
  'scope-backups.delete': scope(async (bench, at) => {
    const { id, address } = await newBackup(bench, at);
    return {
      params: { ...at, backup: id },
      effect: [noRow('backups WHERE id = ?', id), noBackupFile(address)],
    };
  }),
  'imports.create': scope(async (bench, at) => ({
    params: at,
    upload: await bench.platform.exportOf(at),
    effect: [row(`backups WHERE scope = ? AND origin = 'upload'`, at.scope)],
  })),
  'operations.cancel': scope(async (bench, at) => {
    const { release, operation } = await held(bench, at);
    return {
      params: { operation },
      effect: [row('operations WHERE id = ? AND cancel_requested = 1', operation)],
      after: release,
    };
  }),
  'owner-recovery.mint': scope(async (bench, at) => {
    await withHostname(bench, at);
    await bench.platform.claimSeat(at);
    const owners = `_spine_assignments WHERE role = 'owner' GROUP BY role HAVING count(*) = 2`;
    return {
      params: at,
      body: { why: 'Ticket 17.', recover: true },
      effect: [
        rowIn(`identity/${at.tenant}`, 'invites WHERE scope_id = ?', at.scope),
        rowIn(`scope-fieldwork/${at.scope}`, owners),
      ],
    };
  }),
  'owner-replacement.mint': scope(async (bench, at) => {
    await withHostname(bench, at);
    await bench.platform.claimSeat(at);
    return {
      params: at,
      body: { why: 'Ticket 18.', replace: true },
      effect: [
        rowIn(`identity/${at.tenant}`, 'seats WHERE scope_id = ? AND recovery_replaces = 1', at.scope),
      ],
    };
  }),
  'owner-recovery.end': scope(async (bench, at) => {
    await withHostname(bench, at);
    await bench.platform.claimSeat(at);
    await bench.value('owner-recovery.mint', {
      params: at,
      body: { why: 'Ticket 17.', recover: true },
    });
    return {
      params: at,
      body: { why: 'Ticket 19.' },
      effect: [
        rowIn(`identity/${at.tenant}`, 'invites WHERE scope_id = ? AND revoked_at IS NOT NULL', at.scope),
      ],
    };
  }),
  'owner-claim.mint': scope(async (bench, at) => {
    await withHostname(bench, at);
    return {
      params: at,
      effect: [
        rowIn(`identity/${at.tenant}`, 'seats WHERE scope_id = ? AND claim_hash IS NOT NULL', at.scope),
      ],
    };
  }),
  'session-secret.rotate': scope(async (_bench, at) => ({
    params: at,
    body: {},
    effect: [rowIn(`identity/${at.tenant}`, 'secrets')],
  })),
  'dead-letters.retry': async (bench) => {
    const at = await newLibrary(bench);
    const { library } = bench.platform;
    const { book } = await shelve(bench, at, 'poison');
    await library.ask(at.scope, 'book/lend', { book });
    const event = await deadLetter(bench, at);
    await library.repair(at.scope);
    return {
      params: { ...at, event },
      body: { subscriber: 'reminders' },
      effect: [noRowIn(libraryUnit(at), NO_LETTER, event)],
    };
  },
  'scope-version.set': scope(async (bench, at) => {
    const { items } = await versionsOf(bench, 'fieldwork');
    return {
      params: at,
      body: { id: items[0]?.id, snapshot: true },
      effect: [row('scope_versions WHERE scope = ? AND version IS NOT NULL', at.scope)],
    };
  }),
  'subjects.shred': async (bench) => {
    const at = await newLibrary(bench);
    const reader = bench.name('rdr').replaceAll('-', '_');
    await bench.platform.library.ask(at.scope, 'reader/note', { reader, text: 'Saint James Square 12' });
    return {
      params: { ...at, subject: reader },
      effect: [
        row('erasures WHERE scope = ?', at.scope),
        noRowIn(libraryUnit(at), 'notes WHERE reader = ?', reader),
      ],
    };
  },
  'hostnames.bind': scope(async (bench, at) => {
    const hostname = `${bench.name('h')}.apps.example`;
    return { body: { hostname, ...at }, effect: [row('hostnames WHERE hostname = ?', hostname)] };
  }),
  'hostnames.set-status': scope(async (bench, at) => {
    const hostname = await withHostname(bench, at);
    return {
      body: { hostname, status: 'disabled' },
      effect: [row(`hostnames WHERE hostname = ? AND status = 'disabled'`, hostname)],
    };
  }),
  'hostnames.verify': scope(async (bench, at) => {
    const hostname = `${bench.name('h')}.shop.example`;
    const { verification } = await bench.value<HostnameRecord>('hostnames.bind', {
      body: { hostname, ...at },
    });
    if (!verification.challenge) throw new Error('there is nothing that would prove the name');
    const { name, value } = verification.challenge.dns;
    bench.platform.publish(name, value);
    return {
      body: { hostname, tenant: at.tenant },
      effect: [row(`hostnames WHERE hostname = ? AND status = 'active'`, hostname)],
    };
  }),
  'hostnames.delete': scope(async (bench, at) => {
    const hostname = await withHostname(bench, at);
    return { params: { hostname }, effect: [noRow('hostnames WHERE hostname = ?', hostname)] };
  }),
  'directory-backups.create': async () => ({ body: {}, effect: [row(MADE_BY, THIS_REQUEST, THIS_REQUEST)] }),
  'directory-backups.delete': async (bench) => {
    const { result } = await bench.finish('directory-backups.create', { body: {} });
    const { id, address } = result as unknown as BackupRecord;
    return { params: { backup: id }, effect: [noRow('backups WHERE id = ?', id), noBackupFile(address)] };
  },
  'fleet-migrations.run': scope(async () => ({
    // Others are reaped and restored meanwhile.
    body: { failuresMax: 1_000 },
    // A scope is recorded as migrated when it is provisioned: only the work itself says that this call was carried out.
    effect: [row(CARRIED_OUT, THIS_REQUEST, THIS_REQUEST)],
  })),
  'directory.restore': async (bench) => {
    const { result } = await bench.finish('directory-backups.create', { body: {} });
    const { id } = result as unknown as BackupRecord;
    const later = await newTenant(bench);
    return {
      body: { backup: id },
      effect: [noRow('tenants WHERE id = ?', later)],
    };
  },
} as const satisfies Readonly<Record<string, Deed>>;

/** Makes an archived scope, as a reap needs it. */
async function archived(bench: Bench, at: At): Promise<CallParts> {
  await bench.value('scopes.set-status', { params: at, body: { status: 'archived' } });
  return { params: at, body: {} };
}

/** Starts long work that does not end until it is released. */
async function held(bench: Bench, at: At) {
  const release = bench.platform.hold(at.scope);
  const { id } = await bench.begin('scope-backups.create', { params: at, body: {} });
  return { release, operation: id };
}

/** Works until a delivery has given up, which takes a second. */
async function deadLetter({ platform }: Bench, at: At): Promise<string> {
  for (;;) {
    const nextAtMs = await platform.library.work(at.scope);
    const { items } = await ask<{ items: { event: { id: string } }[] }>(
      platform,
      'dead-letters.list',
      { limit: 5 },
      at,
    );
    const [letter] = items;
    if (letter) return letter.event.id;
    await new Promise((resolve) => setTimeout(resolve, Math.max(10, (nextAtMs ?? 0) - Date.now())));
  }
}

function versionsOf({ platform }: Bench, slug: string) {
  return ask<{ items: { id: string }[] }>(platform, 'vertical-versions.list', { limit: 5 }, { slug });
}
