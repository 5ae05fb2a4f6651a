/**
 * Erasing a person for good, at the address of the record that stands for them. It is a route because an operation does
 * not reach the key, which is outside of the scope. The key goes first, then the rows, then the application's own work.
 */
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { ErasablePerson } from '../declaration/app.ts';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { requireNode, requirePermission } from '../request/caller.ts';
import { invokeAsCaller, readRecord } from '../request/records.ts';
import { mountRoutes, readBody } from '../request/routes.ts';
import { emptyBody, type erasedResponse } from '../wire/wire.ts';

export function mountErasure(app: Hono<AppEnv>, services: Services): void {
  const { persons = {} } = services.app.erasure ?? {};
  mountRoutes(
    app,
    services.app.records.flatMap((record) => {
      const person = persons[record.type];
      if (person === undefined) return [];
      const answer = (c: AppContext) => eraseOne(services, c, record, person);
      return [{ method: 'POST' as const, path: `${record.path}/erase`, answer }];
    }),
  );
}

async function eraseOne(
  services: Services,
  c: AppContext,
  record: AddressedRecord,
  person: ErasablePerson,
): Promise<Response> {
  const readId = async () => {
    await readBody(c, emptyBody);
    return c.req.param(record.parameter) ?? '';
  };
  return c.json(await erasePerson(services, c, { record, person, readId }));
}

/** Erases a person for good. The id is read after the permission was checked. @throws PlatformError `permission_denied`, `not_found`, and the refusals of the declaration. */
export async function erasePerson(
  services: Services,
  c: AppContext,
  {
    record,
    person,
    readId,
  }: {
    readonly record: AddressedRecord;
    readonly person: ErasablePerson;
    readonly readId: () => Promise<string> | string;
  },
): Promise<z.input<typeof erasedResponse>> {
  const { permission, refuse, afterwards } = person;
  await requirePermission(services, c, permission);
  const { entity, output } = await readRecord(services, c, record, await readId());
  const refused = refuse?.(output) ?? null;
  if (refused !== null) throw refused;
  const { tenant: tenantId, scope: scopeId } = requireNode(c);
  const receipt = await services.host.shredSubjectLocal({
    tenantId,
    scopeId,
    subject: entity.id,
  });
  if (afterwards !== undefined) await invokeAsCaller(services, c, afterwards, {});
  return receipt;
}
