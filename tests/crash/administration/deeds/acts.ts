/** Prepares the audited changes without an admin operation: requests to the platform itself, and its scheduled work. */
import type { BackupRecord, HostnameRecord } from '../../../../packages/directory/src/admin-operations.ts';
import { staffToken } from '../../../../packages/directory/test/staff.ts';
import { type ActName, beginConsent, connectProgram, endConsent, signIn, sweepBackups } from '../acts.ts';
import { ask, type Bench, type Deed } from '../bench.ts';
import { noBackupFile, noRow, row } from '../conditions.ts';
import { newApp } from './registry.ts';
import { newScope } from './tenants.ts';

const HOUR_MS = 60 * 60 * 1000;

/** The rows about one object: scheduled work has a request of its own. */
const about = (other: string) => ({ where: 'other = ?', params: [other] });

export const actDeeds = {
  'connections.connect': async (bench) => {
    const place = await consentPlace(bench, 'calendar');
    return {
      args: await beginConsent(bench.platform, place),
      effect: [
        row(
          'connections c JOIN connection_credentials k ON k.connection = c.id WHERE c.tenant = ?',
          place.tenant,
        ),
      ],
    };
  },
  'connections.upkeep': async (bench) => {
    const { tenant, connection } = await consented(bench, 'notes');
    return { args: { tenant, connection }, logged: about(connection), effect: [broken(connection)] };
  },
  'connections.upkeep (sweep)': async (bench) => {
    const { connection } = await consented(bench, 'calendar');
    for (const grant of bench.platform.providers.calendar?.grants ?? []) grant.live = false;
    bench.platform.later(2 * HOUR_MS);
    return { args: {}, logged: about(connection), effect: [broken(connection)] };
  },
  'staff.bind': async (bench) => {
    const { login, id } = await invited(bench);
    return {
      args: { login },
      effect: [
        row('staff WHERE id = ? AND subject IS NOT NULL', id),
        row('staff_sessions WHERE member = ?', id),
      ],
    };
  },
  'staff-tokens.create (code)': async (bench) => withToken(await newMember(bench)),
  'staff-tokens.create (device)': async (bench) => withToken(await newMember(bench)),
  'staff-tokens.revoke (secret)': async (bench) => {
    const { id, secret } = await newStaffToken(bench);
    return { args: { secret }, effect: [noRow('staff_tokens WHERE id = ?', id)] };
  },
  'staff-programs.create': async (bench) => {
    const member = await newMember(bench);
    return { args: { member }, effect: [row('program_grants WHERE person_id = ?', member)] };
  },
  'staff-programs.end (issuer)': async (bench) => {
    const { login, id } = await newSignedIn(bench);
    const grant = await connectProgram(bench.platform, id);
    return { args: { login }, effect: [noRow('program_grants WHERE id = ?', grant)] };
  },
  'staff-tokens.revoke (issuer)': async (bench) => {
    const { login, id: member } = await newSignedIn(bench);
    const { id } = await newStaffToken(bench, member);
    return { args: { login }, effect: [noRow('staff_tokens WHERE id = ?', id)] };
  },
  'staff.sign-out-everywhere': async (bench) => {
    const { member } = await newStaffToken(bench);
    await connectProgram(bench.platform, member);
    return {
      args: { member },
      effect: [
        noRow('staff_tokens WHERE member = ?', member),
        noRow('program_grants WHERE person_id = ?', member),
      ],
    };
  },
  'service-tokens.create (wiring)': async (bench) => {
    const name = bench.name('token');
    return {
      args: { name },
      logged: { where: `json_extract(after, '$.name') = ?`, params: [name] },
      effect: [row('tokens WHERE name = ?', name)],
    };
  },
  'service-tokens.revoke (wiring)': async (bench) => {
    const { id } = await bench.platform.admin.mintServiceToken({ name: bench.name('token') });
    return {
      args: { id },
      logged: about(id),
      effect: [row('tokens WHERE id = ? AND revoked_at IS NOT NULL', id)],
    };
  },
  'verticals.register-built-in': async (bench) => {
    const slug = bench.name('app');
    return {
      args: { slug },
      logged: { where: 'vertical = ?', params: [slug] },
      effect: [
        row(
          `verticals v JOIN vertical_versions n ON n.id = v.serving AND n.id = v.built_in
           WHERE v.slug = ? AND n.status = 'admitted'`,
          slug,
        ),
      ],
    };
  },
  'hostnames.recheck': async (bench) => {
    const at = await newScope(bench);
    const hostname = `${bench.name('h')}.shop.example`;
    const { verification } = await bench.value<HostnameRecord>('hostnames.bind', {
      body: { hostname, ...at },
    });
    if (!verification.challenge) throw new Error('there is nothing that would prove the name');
    const { name, value } = verification.challenge.dns;
    bench.platform.publish(name, value);
    await bench.value('hostnames.verify', { body: { hostname, tenant: at.tenant } });
    bench.platform.publish(name, 'something else');
    return {
      args: { hostname },
      logged: about(hostname),
      effect: [row('hostnames WHERE hostname = ? AND missing_since IS NOT NULL', hostname)],
    };
  },
  'backups.expire': async (bench) => {
    const { id, address } = await outlived(bench);
    return {
      args: {},
      logged: { where: `after LIKE '%' || ? || '%'`, params: [id] },
      effect: [noRow('backups WHERE id = ?', id), noBackupFile(address)],
    };
  },
  'tenants.create (vertical)': async (bench) => {
    const { slug: vertical } = await newApp(bench);
    await bench.value('tenant-provisioner.put', { params: { slug: vertical }, body: {} });
    const slug = bench.name('made');
    return { args: { slug, vertical }, effect: [row('tenants WHERE slug = ?', slug)] };
  },
} as const satisfies Readonly<Record<ActName, Deed>>;

/** Operations about an object that a member of the staff got by signing in. */
export const memberDeeds = {
  'staff-tokens.revoke': async (bench) => {
    const { id } = await newStaffToken(bench);
    return { params: { token: id }, effect: [noRow('staff_tokens WHERE id = ?', id)] };
  },
  'staff-programs.end': async (bench) => {
    const program = await connectProgram(bench.platform, await newMember(bench));
    return { params: { program }, effect: [noRow('program_grants WHERE id = ?', program)] };
  },
  'program-policy.put': async (bench) => {
    await bench.value('program-policy.put', { body: { programs: 'any' } });
    const program = await connectProgram(bench.platform, await newMember(bench), 'agent.example');
    return {
      // Programs of other deeds come from this address.
      body: { programs: 'listed', hosts: ['127.0.0.1'] },
      effect: [noRow('program_grants WHERE id = ?', program)],
    };
  },
} as const satisfies Readonly<Record<string, Deed>>;

/** Makes a scope with a host name, and a person with an account at the provider. */
async function consentPlace(bench: Bench, provider: string) {
  const at = await newScope(bench);
  const hostname = `${bench.name('h')}.apps.example`;
  await bench.value('hostnames.bind', { body: { hostname, ...at } });
  return { ...at, hostname, provider, account: bench.name('account') };
}

/** Connects an account. Tokens of `notes` expire at once and cannot be refreshed. */
async function consented(bench: Bench, provider: 'calendar' | 'notes') {
  const place = await consentPlace(bench, provider);
  const connection = await endConsent(
    bench.platform,
    await beginConsent(bench.platform, place),
    'req-consent',
  );
  return { ...place, connection };
}

const broken = (connection: string) => row(`connections WHERE id = ? AND state = 'broken'`, connection);

async function invited(bench: Bench): Promise<{ readonly login: string; readonly id: string }> {
  const login = bench.name('m');
  const body = { email: `${login}@example.test`, name: login, role: 'operator' };
  return { login, id: (await bench.value('staff.put', { body })).id };
}

async function newSignedIn(bench: Bench): ReturnType<typeof invited> {
  const member = await invited(bench);
  await signIn(bench.platform.admin, member.login, 'req-sign-in');
  return member;
}

const newMember = async (bench: Bench): Promise<string> => (await newSignedIn(bench)).id;

const withToken = (member: string) => ({
  args: { member },
  effect: [row('staff_tokens WHERE member = ?', member)],
});

/** A program of a new member of the staff, with a token. */
async function newStaffToken(bench: Bench, given?: string): Promise<Awaited<ReturnType<typeof staffToken>>> {
  const member = given ?? (await newMember(bench));
  // The helper of the directory's own tests needs only these parts of a platform.
  const platform = {
    admin: bench.platform.admin,
    value: (_name: string, { query }: { query: Readonly<Record<string, unknown>> }) =>
      ask(bench.platform, 'staff-tokens.list', query),
  } as unknown as Parameters<typeof staffToken>[0];
  return staffToken(platform, member);
}

/** Makes an automatic backup of a scope that was reaped so long ago that the next sweep deletes it. */
async function outlived(bench: Bench): Promise<BackupRecord> {
  const { platform } = bench;
  const keeping = { everyMs: HOUR_MS, keepDaily: 1_000, keepWeekly: 0 };
  const at = await newScope(bench);
  await sweepBackups(platform, keeping);
  const { items } = await ask<{ items: BackupRecord[] }>(platform, 'scope-backups.list', { limit: 5 }, at);
  const made = items.find(({ origin }) => origin === 'scheduled');
  if (!made) throw new Error('the sweep made no backup');
  await bench.value('scopes.set-status', { params: at, body: { status: 'archived' } });
  await bench.finish('scopes.reap', { params: at, body: {} });
  // A backup expires only after the platform ran twice past its end, most of a day apart.
  for (const hours of [25, 21]) {
    platform.later(hours * HOUR_MS);
    await sweepBackups(platform, keeping);
  }
  return made;
}
