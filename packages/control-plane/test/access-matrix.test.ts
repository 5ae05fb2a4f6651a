/**
 * The access matrix (spec C-01; design: control-plane, "Actors"): every operation × everybody who can come × own, other and
 * no tenant, over the real host administration. What is expected follows from the declarations alone.
 */
import { type Actor, mayCall } from '@freehold/directory';
import { type AdminOperation, adminOperations } from '@freehold/directory/declarations';
import { expect, test } from 'vitest';
import { runs } from '../../testkit/src/index.ts';
import { expectDocumented } from './support/conformance.ts';
import {
  asVertical,
  type Credential,
  type Fixture,
  type Names,
  namesThing,
  openFixture,
  ROLES,
  requestAbout,
} from './support/fixture.ts';

const OPERATIONS: readonly AdminOperation[] = Object.values(adminOperations);
const TIMEOUT_MS = 300_000;

type Place = 'params' | 'query' | 'body';
type Pick = (place: Place, field: string) => Names;

type Caller = [who: string, credential: Credential, may: boolean];

/** Which house the fields of a request are about. */
const about =
  (names: Names): Pick =>
  () =>
    names;

/** A tenant of one house, and things of another. */
const nested =
  (tenant: Names, things: Names): Pick =>
  (_, field) =>
    field === 'tenant' ? tenant : things;

/** Everything about an answer that its receiver can see, but for the names of the request itself. */
async function seenIn(response: Response): Promise<string> {
  const { requestId: _, ...body } = JSON.parse((await response.clone().text()) || '{}');
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
  return JSON.stringify({ status: response.status, headers, body });
}

/** Collects what was not as expected, a line a cell, so that one run shows the whole of it. */
function findings() {
  const lines: string[] = [];
  const cells = { count: 0 };
  return {
    lines,
    cells,
    check: async (cell: string, statement: () => Promise<void> | void) => {
      cells.count += 1;
      try {
        await statement();
      } catch (error) {
        lines.push(`${cell}: ${(error as Error).message.split('\n').slice(0, 4).join(' ')}`);
      }
    },
  };
}

const fieldsOf = ({ input }: AdminOperation): [Place, string][] =>
  (['params', 'query', 'body'] as const).flatMap((place) =>
    Object.keys(input[place]?.shape ?? {}).map((field): [Place, string] => [place, field]),
  );

/** Whether a request of this operation can name a thing of another tenant. */
const namesThings = (operation: AdminOperation) =>
  fieldsOf(operation).some(([place, field]) => namesThing(operation, place, field));

/** Whether it can be about a thing beside the tenant. */
const namesMoreThanTenant = (operation: AdminOperation) => {
  const fields = fieldsOf(operation).filter(([place, field]) => namesThing(operation, place, field));
  return (
    fields.some(([, field]) => field === 'tenant') &&
    fields.some(([place, field]) => place === 'params' && !['tenant', 'key'].includes(field))
  );
};

/**
 * The number of the 16 kinds of callers without an identity that each operation meets; each kind meets every fourth
 * operation.
 */
const KINDS_AT_ONCE = runs(16, 4);

const MEANS = ['sessions', 'programs'] as const;

/** By which means staff call: a session or a program. In `npm test` each operation is called by one of them, in turn. */
const meansFor = (index: number) => (runs(2, 1) === 2 ? MEANS : [MEANS[index % 2] as (typeof MEANS)[number]]);

function anonymousFor<T>(index: number, kinds: Readonly<Record<string, T>>): [string, T][] {
  const all = Object.entries(kinds);
  return Array.from(
    { length: KINDS_AT_ONCE },
    (_, turn) => all[(index * KINDS_AT_ONCE + turn) % all.length] as [string, T],
  );
}

async function answersOf(
  fixture: Fixture,
  operation: AdminOperation,
  credential: Credential,
  picks: Readonly<Record<string, Pick>>,
): Promise<{ target: string; response: Response; seen: string }[]> {
  const answers = [];
  for (const [target, pick] of Object.entries(picks)) {
    const response = await fixture.send(requestAbout(operation, pick, { credential }));
    answers.push({ target, response, seen: await seenIn(response) });
  }
  return answers;
}

test(
  'no caller without access learns anything, and nothing happens (C-01, C-33)',
  async () => {
    const fixture = await openFixture();
    const { ours, theirs, nowhere, credentials } = fixture;
    const { lines, cells, check } = findings();
    const builders = Object.entries(ours.builders);
    const before = await fixture.logged();
    const everywhere = { own: about(ours.names), other: about(theirs.names), none: about(nowhere) };
    const refusedAlike = async (
      operation: AdminOperation,
      who: string,
      {
        credential,
        picks,
        expected,
      }: { credential: Credential; picks: Record<string, Pick>; expected: object },
    ) => {
      const answers = await answersOf(fixture, operation, credential, picks);
      for (const { target, response, seen } of answers)
        await check(`${operation.name}, ${who}, ${target}`, async () => {
          expect(await response.clone().json()).toMatchObject(expected);
          await expectDocumented(operation, response);
          expect(seen).toBe(answers[0]?.seen);
        });
    };
    for (const [index, operation] of OPERATIONS.entries()) {
      for (const [who, credential] of anonymousFor(index, credentials.anonymous))
        await refusedAlike(operation, who, {
          credential,
          picks: everywhere,
          expected: { status: 401, code: 'unauthenticated' },
        });
      for (const role of ROLES)
        for (const by of meansFor(index))
          if (!mayCall(operation, staff(role)))
            await refusedAlike(operation, `${role} by ${by}`, {
              credential: credentials[by][role],
              picks: everywhere,
              expected: { status: 403, reason: 'role_insufficient' },
            });
      const { granted, ungranted, forged } = credentials.verticals;
      await refusedAlike(operation, 'a forged vertical', {
        credential: forged,
        picks: everywhere,
        expected: { status: 403, reason: 'platform_secret_mismatch' },
      });
      await refusedAlike(operation, 'a vertical without a grant', {
        credential: ungranted,
        picks: everywhere,
        expected: { status: 403, reason: operation.vertical ? 'not_granted' : 'not_for_verticals' },
      });
      if (!operation.vertical)
        await refusedAlike(operation, 'a vertical with every grant', {
          credential: granted,
          picks: everywhere,
          expected: { status: 403, reason: 'not_for_verticals' },
        });
      for (const [who, credential] of builders) {
        if (operation.builder === 'none')
          await refusedAlike(operation, who, {
            credential,
            picks: everywhere,
            expected: { status: 403, reason: 'staff_only' },
          });
        if (operation.builder === 'own-tenant' && namesThings(operation))
          await refusedAlike(operation, who, {
            credential,
            picks: { none: about(nowhere), other: about(theirs.names) },
            expected: { status: 404, code: 'not_found' },
          });
      }
      // The tenant is right, and the thing in it is another tenant's.
      if (namesMoreThanTenant(operation))
        for (const [who, credential] of [
          ['service', credentials.service],
          ...(operation.builder === 'own-tenant' ? builders : []),
        ] as const)
          await refusedAlike(operation, `${who} with a tenant of its own`, {
            credential,
            picks: { none: nested(ours.names, nowhere), other: nested(ours.names, theirs.names) },
            expected: { status: 404, code: 'not_found' },
          });
      // A caller that may see everything learns that there is nothing.
      if (operation.path.includes('/:tenant'))
        await refusedAlike(operation, 'service', {
          credential: credentials.service,
          picks: { none: about(nowhere) },
          expected: { status: 404, code: 'not_found' },
        });
    }
    expect(lines).toEqual([]);
    // Callers without an identity ask about three targets of each operation; verticals and roles add 12 cells and more.
    expect(Object.keys(credentials.anonymous)).toHaveLength(16);
    expect(cells.count).toBeGreaterThan(OPERATIONS.length * (3 * KINDS_AT_ONCE + 12));
    expect(await fixture.logged()).toBe(before);
    expect(fixture.incidents).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  'a caller with access is admitted, by the declared role and token (C-01)',
  async () => {
    const fixture = await openFixture();
    const { credentials } = fixture;
    const { lines, check } = findings();
    const read = await fixture.build('tenant-read');
    for (const [index, operation] of OPERATIONS.entries()) {
      // A change has a tenant of its own, because many a change is the end of what it is about.
      const tenantFixture = operation.audit === 'audit' ? await fixture.build(`tenant-${index}`) : read;
      const callers: Caller[] = [
        ...Object.entries(tenantFixture.builders).map(
          ([who, credential]): Caller => [who, credential, operation.builder === 'own-tenant'],
        ),
        // The one who may least comes first, so that there is something left for them.
        ...ROLES.toReversed().flatMap((role): Caller[] =>
          meansFor(index).map((by) => [
            `${role} by ${by}`,
            credentials[by][role],
            mayCall(operation, staff(role)),
          ]),
        ),
        ['service', credentials.service, true],
        ['a vertical', await asVertical(tenantFixture.names.slug ?? ''), operation.vertical !== undefined],
      ];
      for (const [who, credential, may] of callers.filter(([, , each]) => each))
        await check(`${operation.name}, ${who}, own`, async () => {
          const response = await fixture.send(
            requestAbout(operation, about(tenantFixture.names), { credential }),
          );
          const text = await response.clone().text();
          expect(may).toBe(true);
          // Where the declaration says that the state of the thing decides too, it may.
          if (!operation.problems?.includes('forbidden'))
            expect(text).not.toMatch(
              /"(staff_only|role_insufficient|unknown_tenant|not_for_verticals|not_granted)"/,
            );
          expect(response.status).not.toBe(401);
          if (operation.method === 'GET') expect(`${response.status} ${text}`).not.toMatch(/^404/);
          if (who in tenantFixture.builders) expect(text).not.toContain(fixture.theirs.names.tenant);
          await expectDocumented(operation, response);
        });
    }
    expect(lines).toEqual([]);
    expect(fixture.incidents).toEqual([]);
  },
  TIMEOUT_MS,
);

function staff(role: 'admin' | 'operator' | 'auditor'): Actor {
  return { kind: 'staff', id: 'stf', name: role, role };
}
