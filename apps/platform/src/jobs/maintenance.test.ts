import { PlatformError } from '@freehold/contracts';
import { makeVaultUnit } from '@freehold/kernel';
import { defineUnit, makeKeyring } from '@freehold/store';
import { expect, test } from 'vitest';
import { tidyUp } from './maintenance.ts';

const unit = (kind: string) => defineUnit({ kind, migrations: [], queries: [], open: () => ({}) });
const units = { scope: unit('scope-x'), identity: unit('identity') };
const vaultUnit = makeVaultUnit(makeKeyring([]));

/** One platform with two tenants and a scope each; `sweep` and `left` describe its units. */
function open({
  sweep = async (_key: string): Promise<void> => undefined,
  left = [0],
  secretsLeft = 0,
}: {
  sweep?: (key: string) => Promise<void>;
  left?: number[];
  secretsLeft?: number;
} = {}) {
  const swept: string[] = [];
  const incidents: { key: string; method: string }[] = [];
  const failures: { subject?: string | null; reason: string }[] = [];
  const resealed: string[] = [];
  const proofs: string[] = [];
  const archived: string[] = [];
  const identities: string[] = [];
  const stopping = new AbortController();
  const options = {
    engine: {
      sweepHistory: async ({ kind }: { kind: string }, key: string) => {
        swept.push(`${kind}/${key}`);
        await sweep(key);
      },
      unit: (_definition: unknown, tenant: string) => ({
        reseal: async () => {
          resealed.push(tenant);
          return { left: left.shift() ?? 0 };
        },
        resealSecrets: async () => {
          identities.push(tenant);
          return { resealed: 0, left: 0, unreadable: 0 };
        },
        sealProof: async () => 'sealed long ago',
        saveSealProof: async ({ sealed }: { sealed: string }) => void proofs.push(sealed),
      }),
    },
    vaultUnit,
    secrets: { resealSecrets: async () => ({ left: secretsLeft }) },
    keyring: { isStale: () => true, seal: () => 'sealed anew' },
    blobArchive: {
      reconcile: async (ids: AsyncIterable<string>) => {
        for await (const id of ids) archived.push(id);
      },
    },
    verticals: new Map([['x', { units }]]),
    fleet: {
      tenants: async function* tenants() {
        yield* ['a', 'b'];
      },
      scopes: async function* scopes() {
        yield { tenant: 'a', scope: 'sa', vertical: 'x', serving: true };
        yield { tenant: 'b', scope: 'sb', vertical: 'x', serving: false };
        yield { tenant: 'b', scope: 'sc', vertical: 'elsewhere', serving: true };
      },
    },
    onIncident: (_error: unknown, { key, method }: { key: string; method: string }) =>
      void incidents.push({ key, method }),
    onFailure: (failure: { subject?: string | null; reason: string }) => void failures.push(failure),
  };
  const run = () => tidyUp(options as unknown as Parameters<typeof tidyUp>[0], stopping.signal);
  return {
    run,
    swept,
    incidents,
    failures,
    resealed,
    proofs,
    archived,
    identities,
    stop: () => stopping.abort(),
  };
}

test('the history of every unit is swept, suspended or not', async () => {
  const { run, swept, resealed, archived, identities, incidents } = open();
  await run();
  expect(swept).toEqual([
    'directory/main',
    'platform/main',
    'identity/a',
    'identity/b',
    'scope-x/sa',
    'scope-x/sb',
  ]);
  expect([resealed, identities]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ]);
  expect(archived).toEqual(['sa', 'sb', 'sc']);
  expect(incidents).toEqual([]);
});

test('a failing unit is an incident, and the others are maintained; an absent unit is none', async () => {
  const { run, swept, incidents, failures } = open({
    sweep: async (key) => {
      if (key === 'a') throw new Error('disk');
      if (key === 'b') throw new PlatformError('not_found', 'There is no such identity.');
    },
  });
  expect(await run()).toEqual({ steps: 13, failed: 1 });
  expect(swept).toHaveLength(6);
  expect(incidents).toEqual([{ key: 'a', method: 'sweepHistory' }]);
  expect(failures).toMatchObject([
    { operation: 'maintenance', subject: 'sweepHistory a', reason: 'internal' },
  ]);
});

test('keys are resealed until none is left, and not for ever when some do not open', async () => {
  const { run, resealed } = open({ left: [300, 100, 0, 50, 50] });
  await run();
  expect(resealed).toEqual(['a', 'a', 'a', 'b', 'b']);
});

test('a rotation ends when everything is sealed under the new key, and not before', async () => {
  const whole = open({ left: [300, 0, 0] });
  await whole.run();
  expect(whole.proofs).toEqual(['sealed anew']);
  const partly = open({ left: [50, 50, 0] });
  await partly.run();
  expect(partly.proofs).toEqual([]);
  const withSecret = open({ secretsLeft: 1 });
  await withSecret.run();
  expect(withSecret.proofs).toEqual([]);
});

test('a platform that stops does not wait for maintenance', async () => {
  const { run, swept, stop } = open({ sweep: async () => stop() });
  await run();
  expect(swept).toEqual(['directory/main']);
});
