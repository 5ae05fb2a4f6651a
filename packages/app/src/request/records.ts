/** The record that an address names, read as the caller may read it: for what is around a record and no operation. */
import type { EntityRef } from '@freehold/contracts';
import type { AppContext, Services } from '../declaration/env.ts';
import type { AddressedRecord } from '../declaration/records.ts';
import { actingCaller, requireNode } from './caller.ts';

/** @param text the id as text. Default: the one in the address. @throws PlatformError `not_found`; `permission_denied`, with its row in the denial log. */
export async function readRecord(
  services: Services,
  c: AppContext,
  { type, parameter, readId }: AddressedRecord,
  text = c.req.param(parameter) ?? '',
): Promise<{ readonly entity: EntityRef; readonly output: unknown }> {
  // An anonymous caller learns nothing of the schema.
  await actingCaller(services, c);
  const id = readId(text);
  const output = await invokeAsCaller(services, c, `${type}/get`, { [parameter]: id });
  return { entity: { type, id: String(id) }, output };
}

/** Runs an operation as the caller, and returns its output. */
export async function invokeAsCaller(
  services: Services,
  c: AppContext,
  operation: string,
  input: unknown,
): Promise<unknown> {
  const caller = await actingCaller(services, c);
  const stub = services.host.operations(requireNode(c).scope, caller);
  return (await stub.invoke({ operation, input })).output;
}
