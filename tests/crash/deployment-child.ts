/**
 * A platform over a place, which carries out one stage and dies at a step of it, or judges what another one left. The
 * directory, the runtime and the processes of the vertical are the real ones. `deployment-child.ts PLACE run STAGE POINT
 * VICTIMS`, or `PLACE judge STAGE`; `PLACE prepare STAGE` makes what a stage needs.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError, parseInput } from '@freehold/contracts';
import { fileBudgetOf, makeNodeBlobStore, openNodeEngine } from '@freehold/engine-node';
import { makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { openDeployed } from '../../apps/platform/src/applications/deployed.ts';
import { makeGateway } from '../../apps/platform/src/applications/verticals.ts';
import { ScopeActivity } from '../../apps/platform/src/network/activity.ts';
import { openAnchor } from '../../apps/platform/src/storage/anchor.ts';
import {
  type AdminOperation,
  type AdminOperationName,
  adminOperations,
  type OperationRecord,
} from '../../packages/directory/src/admin-operations.ts';
import { type Actor, type AdminResult, makeHostAdmin } from '../../packages/directory/src/index.ts';
import { processesOf } from '../../packages/runtime-workerd/src/process/orphan.ts';
import { makeKillPoints } from './administration/kill-points.ts';
import { type Look, type Said, type ScopeLook, type Stage, stages, VERTICAL } from './deployment/stages.ts';

const STAFF: Actor = { kind: 'staff', id: 'ada', name: 'Ada', role: 'admin' };
const TENANTS = ['acme', 'bolt', 'cone'];

const [place = '', task = '', title = '', killAt = 'Infinity', victims = 'platform'] = process.argv.slice(2);
const stage = stages.find((each) => each.title === title) as Stage;
const dataDirectory = join(place, 'data');

function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

const world = {
  now: Date.now,
  random: (bytes: number) => randomBytes(bytes),
  onIncident: (error: unknown) => void process.stderr.write(`${wordsOf(error)}\n`),
};
const inner = openNodeEngine({ dataDirectory, ...world });
let isKilled = false;
const points = makeKillPoints(inner, () => {
  if (isKilled) return;
  isKilled = true;
  if (victims !== 'platform') killProcesses();
  if (victims !== 'processes') process.kill(process.pid, 'SIGKILL');
});
const { engine } = points;
const keyring = makeKeyring(['a sealing key of the crash suite, long enough']);
const vaultUnit = makeVaultUnit(keyring);
const deployed = await openDeployed({
  dataDirectory,
  storage: {
    engine,
    keyring,
    vault: makeUnitVault((tenant) => engine.unit(vaultUnit, tenant, { create: true })),
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId: scopeId as never, now: world.now }),
    archive: null,
    followCopies: () => undefined,
    files: fileBudgetOf(Number.POSITIVE_INFINITY),
  },
  mailer: { send: async () => undefined },
  platformSecrets: ['the platform secret of the crash suite, long enough'],
  bindings: () => ({ AUTH_PROVIDER: 'directory' }),
  signInBindings: {},
  models: {},
  issuerFetch: () => Promise.reject(new TypeError('these tests have no network')),
  directory: () => points.watch(admin),
  declaredOnly: [],
  onLines: () => undefined,
  activity: new ScopeActivity(),
  ...world,
});
const admin = makeHostAdmin({
  engine,
  gateway: makeGateway(new Map(), deployed),
  baseDomains: ['apps.example'],
  runtime: points.watch(deployed.runtime),
  sealing: keyring,
  anchor: openAnchor({ file: join(place, 'anchor.json') }),
  permissionsOf: () => [],
  ...world,
});

if (task === 'prepare') await (stage.scopes ? provision() : prepare());
else if (task === 'run') await run();
else await judge();
await admin.stopLongWork();
await deployed.runtime.close();
await inner.close();
process.exit();

async function run(): Promise<void> {
  points.arm(Number(killAt));
  const refused = await carryOut('k1');
  say({ t: 'over', points: points.passed, refused });
  points.arm(Number.POSITIVE_INFINITY);
}

/** Looks at what was left, lets it resume, makes the call again, and looks again. */
async function judge(): Promise<void> {
  say({ t: 'look', when: 'before', look: await look() });
  await admin.resumeLongWork();
  await allEnded();
  // The same call once more; a wave that ended with scopes left is begun anew.
  const again = await carryOut('k1');
  const refused = again === null || stage.operation !== 'verticals.move' ? again : await carryOut('k2');
  say({ t: 'repeated', refused });
  say({ t: 'look', when: 'after', look: await look() });
  const { status } = await ask<{ status: string }>('admin-log.verify');
  say({ t: 'verdict', status });
}

async function prepare(): Promise<void> {
  for (const slug of TENANTS) await ask('tenants.create', { body: { slug, name: slug } });
  await ask('verticals.create', { body: { slug: VERTICAL, name: 'Notes' } });
}

async function provision(): Promise<void> {
  for (const { id, slug } of await tenants()) {
    const made = await ask<{ id: string }>('scopes.provision', {
      params: { tenant: id },
      body: { slug: 'main', name: slug, vertical: VERTICAL },
    });
    await visit({ tenant: id, scope: made.id }, `/put?text=${slug}`);
  }
}

/** Returns the refusal, or null. */
async function carryOut(key: string): Promise<string | null> {
  const { operation, version } = stage;
  const params = { slug: VERTICAL, ...(operation === 'channels.promote' ? { channel: 'prod' } : {}) };
  const bundle =
    operation === 'verticals.deploy'
      ? JSON.parse(readFileSync(join(place, 'bundles', `${version}.json`), 'utf8'))
      : {};
  try {
    const { value } = await perform(operation, {
      params,
      body: { ...stage.body(version), ...bundle },
      key: `${title} ${key}`,
    });
    if (operation !== 'verticals.move') return null;
    const record = await ended((value as OperationRecord).id);
    return record.state === 'done' ? null : JSON.stringify(record.problem);
  } catch (error) {
    return wordsOf(error);
  }
}

async function look(): Promise<Look> {
  const { items: channels } = await ask<{ items: { version: string | null }[] }>('channels.list', {
    params: { slug: VERTICAL },
  });
  const { items: versions } = await ask<{ items: { version: string; uploadedAt: string | null }[] }>(
    'vertical-versions.list',
    { params: { slug: VERTICAL } },
  );
  const scopes: Record<string, ScopeLook> = {};
  for (const { id, slug } of stage.scopes ? await tenants() : []) {
    const { items } = await ask<{ items: { id: string }[] }>('scopes.list', { params: { tenant: id } });
    for (const { id: scope } of items) scopes[slug] = await lookAt({ tenant: id, scope });
  }
  const { items: intents } = await ask<{ items: unknown[] }>('admin-log.list', {
    query: { outcome: 'unsettled' },
  });
  return {
    registered: channels[0]?.version ?? null,
    serving: deployed.runtime.serving(VERTICAL)?.version ?? null,
    uploaded: versions.flatMap(({ version, uploadedAt }) => (uploadedAt === null ? [] : [version])).sort(),
    scopes,
    openIntents: intents.length,
  };
}

async function lookAt(at: { readonly tenant: string; readonly scope: string }): Promise<ScopeLook> {
  const said = await visit(at, '/look');
  const { items } = await ask<{ items: { name: string }[] }>('snapshots.list', { params: at });
  return { ...JSON.parse(said), snapshots: items.map(({ name }) => name) };
}

/** A request of a visitor. One that is told to come again does so. */
async function visit(at: { readonly tenant: string; readonly scope: string }, path: string): Promise<string> {
  const node = {
    ...at,
    vertical: VERTICAL,
    version: '',
    surface: 'app',
    origin: 'http://notes.localhost',
  } as never;
  for (let tries = 0; ; tries++) {
    const request = new Request(`http://notes.localhost${path}`);
    const answered = await deployed.runtime.fetch(VERTICAL, request, node, null).catch((error) => error);
    if (answered instanceof Response && answered.status === 200) return answered.text();
    if (tries === 5) throw new Error(`${path} was not answered: ${await wordsOf(answered)}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

async function tenants(): Promise<readonly { readonly id: string; readonly slug: string }[]> {
  return (await ask<{ items: { id: string; slug: string }[] }>('tenants.list')).items.filter(({ slug }) =>
    TENANTS.includes(slug),
  );
}

interface Parts {
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
  readonly key?: string;
}

async function ask<T>(operation: AdminOperationName, parts: Parts = {}): Promise<T> {
  return (await perform(operation, parts)).value as T;
}

/** Parses as the transport does, and performs. */
async function perform(
  operation: AdminOperationName,
  { params = {}, query = {}, body = {}, key }: Parts,
): Promise<AdminResult> {
  const { input }: AdminOperation = adminOperations[operation];
  return admin.perform({
    operation,
    params: input.params ? parseInput('The path', input.params, params) : {},
    query: input.query ? parseInput('The query', input.query, query) : {},
    body: input.body ? parseInput('The body', input.body, body) : {},
    actor: STAFF,
    requestId: `req-${randomBytes(8).toString('hex')}`,
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });
}

async function ended(operation: string): Promise<OperationRecord> {
  for (;;) {
    const record = await ask<OperationRecord>('operations.get', {
      params: { operation },
      query: { wait: '30s' },
    });
    if (record.state !== 'queued' && record.state !== 'running') return record;
  }
}

async function allEnded(): Promise<void> {
  for (const state of ['queued', 'running']) {
    const { items } = await ask<{ items: OperationRecord[] }>('operations.list', {
      query: { state, limit: 200 },
    });
    for (const { id } of items) await ended(id);
  }
}

function killProcesses(): void {
  for (const name of [VERTICAL, '-checks'])
    for (const pid of processesOf(join(dataDirectory, 'runtime', name))) process.kill(pid, 'SIGKILL');
}

function wordsOf(error: unknown): string {
  if (error instanceof PlatformError)
    return `${error.code} ${error.reason}: ${error.message}${error.cause ? ` (${wordsOf(error.cause)})` : ''}`;
  return error instanceof Error ? String(error.stack) : String(error);
}
