/**
 * An input that the document calls valid is not refused as invalid: inputs made from the published schemas, about
 * existing things, over the real host administration (C-32). Rules beyond a schema are listed, with the reason.
 */
import type { AdminOperation } from '@freehold/directory/declarations';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { manifestOf } from '../../directory/test/registry.ts';
import { runs } from '../../testkit/src/index.ts';
import { expectDocumented } from './support/conformance.ts';
import { type Fixture, openFixture, requestAbout, type TenantFixture } from './support/fixture.ts';
import { partsOf, requestOf, type ValidInput, validInputs } from './support/requests.ts';
import { OPERATIONS } from './support/walk.ts';

/** Inputs of each operation. */
const INPUTS = runs(12, 4);
const TIMEOUT_MS = 180_000;

/** Operations with a rule that JSON Schema has no words for: what such a refusal says, and why. */
interface Exception {
  readonly says: RegExp;
  readonly reason: string;
}

const PERIOD: Exception = {
  says: /since: must be (?:before until|at most 31 days before until)|tenant: must be named|ends before it begins/,
  reason:
    'Which of two moments is later is told by comparing them; and whose figures they are is said by a builder’s token alone, where staff have to name it.',
};
const ONE_OF: Exception = {
  says: /must name exactly one of/,
  reason: 'The choice has other fields beside it, so that no count of fields says it.',
};

const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'channels.promote': ONE_OF,
  'scope-version.set': ONE_OF,
  'hostnames.bind': {
    says: /tenant: must be named/,
    reason: 'A builder’s token names the tenant; staff have to. One schema is for both.',
  },
  'identities.add': {
    says: /value: (?:is not part of a whole issuer|must say which)/,
    reason: 'Whether there is a value follows from the kind.',
  },
  'verticals.deploy': {
    says: /modules: must (?:have|not name)/,
    reason: 'A deployment has a file that is sent or one that is known, and none twice.',
  },
  'previews.create': {
    says: /modules: must (?:have|not name)/,
    reason: 'As for a deployment.',
  },
  'staff.put': {
    says: /tenant: (?:is not for a member of the staff|must name the tenant)/,
    reason: 'Whether there is a tenant follows from the role.',
  },
  ...Object.fromEntries(
    [
      ...['meters.list', 'model-usage.list'],
      ...[
        'logs',
        'metrics',
        'metrics-series',
        'tenant-lines',
        'tenant-logs',
        'tenant-metrics',
        'tenant-metrics-series',
      ].map((verb) => `observability.${verb}`),
    ].map((name) => [name, PERIOD]),
  ),
};

/** A manifest holds together as a whole: its own tests are of its parts. */
const MANIFEST_VERSION = '3.0.0';

/** Fields that name what is there already, wherever they stand. */
const KNOWN = [
  'tenant',
  'scope',
  'ownerTenant',
  'visibleTo',
  'connection',
  'vertical',
  'provider',
  'fingerprint',
];

/** An input with the things of a house in it, and with text of the form that a field says in words. */
function about(
  operation: AdminOperation,
  { names }: TenantFixture,
  { params, query, body }: ValidInput,
): ValidInput {
  const known: Record<string, string | undefined> = {
    ...Object.fromEntries(KNOWN.map((name) => [name, names[name]])),
    hostname: operation.name === 'hostnames.bind' ? `new-${names.hostname}` : names.hostname,
    apiKey: `key-of-${names.slug?.replaceAll('-', '')}-1`,
    snapshot: names.snapshot,
    backup: operation.path.startsWith('/directory/') ? names['directory backup'] : names.backup,
    export: names.backup,
    issuer: 'https://login.example.com',
    ...(operation.name === 'vertical-versions.register' ? { version: MANIFEST_VERSION } : {}),
  };
  const member = (name: string, value: unknown): unknown => {
    if (name === 'manifest') return manifestOf(names.slug ?? '', MANIFEST_VERSION);
    return known[name] !== undefined && typeof value === 'string' ? known[name] : filled(value);
  };
  const filled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(filled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, member(name, each)]));
  };
  // A cursor is what an earlier page said.
  const { cursor: _, ...asked } = query;
  return { params, query: filled(asked) as ValidInput['query'], body: filled(body) as ValidInput['body'] };
}

/** More where there is an exception: it must be met, whatever a change of a schema makes of the drawn inputs. */
function inputsOf({ name }: AdminOperation): number {
  return Object.hasOwn(EXCEPTIONS, name) ? INPUTS * 4 : INPUTS;
}

/** The address is made by the names of its fields, everything else by the schemas. */
function requestsOf(operation: AdminOperation, fixture: Fixture, tenantFixture: TenantFixture): Request[] {
  const credential = fixture.credentials.service;
  const { pathname } = new URL(requestAbout(operation, () => tenantFixture.names, { credential }).url);
  return fc.sample(validInputs(operation), { numRuns: inputsOf(operation), seed: 42 }).map((input) => {
    const parts = { ...partsOf(operation, about(operation, tenantFixture, input)), path: pathname };
    const request = requestOf(operation.method, parts, '');
    for (const [name, value] of Object.entries(credential)) request.headers.set(name, value);
    return request;
  });
}

test(
  'what is valid by the document is never 400, but for the rules that it cannot state (C-32)',
  async () => {
    const fixture = await openFixture();
    const refused: string[] = [];
    const used = new Set<string>();
    for (const operation of OPERATIONS) {
      const isRead = operation.method === 'GET';
      const tenantFixture = isRead
        ? fixture.ours
        : await fixture.build(`valid-${operation.name.replaceAll(/[^a-z]/g, '-')}`);
      for (const request of requestsOf(operation, fixture, tenantFixture)) {
        const sent = `${request.method} ${request.url} ${request.body === null ? '' : await request.clone().text()}`;
        const response = await fixture.send(request);
        const answer = await response.clone().text();
        await expectDocumented(operation, response, { counted: false, replayed: false });
        if (response.status !== 400) continue;
        if (EXCEPTIONS[operation.name]?.says.test(answer)) used.add(operation.name);
        else refused.push(`${operation.name}: ${JSON.parse(answer).detail} <- ${sent.slice(0, 300)}`);
      }
    }
    expect(refused).toEqual([]);
    expect([...used].sort()).toEqual(Object.keys(EXCEPTIONS).sort());
    expect([fixture.incidents, fixture.platform.incidents]).toEqual([[], []]);
  },
  TIMEOUT_MS,
);
