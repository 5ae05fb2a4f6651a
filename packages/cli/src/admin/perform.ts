/** Makes one call of an admin operation: fetches all pages, waits for long work, saves bytes to a file. */
import { openAsBlob } from 'node:fs';
import { resolve } from 'node:path';
import { PlatformError } from '@freehold/contracts';
import type { Caller, RawInput as CallInput, ClientResponse, Upload } from '@freehold/control-plane/client';
import type {
  AdminLogVerification,
  AdminOperation,
  adminOperations,
  OperationRecord,
} from '@freehold/directory/declarations';
import type { z } from 'zod';
import type { Outcome, RawInput } from '../lib/command.ts';
import { fileFailure, type World } from '../lib/world.ts';
import { progressText } from '../output/progress.ts';
import { saveStream } from '../output/save.ts';
import { answerText, listAnswerText } from './answer-text.ts';
import { followWork, laterText } from './follow-work.ts';

export interface Performance {
  readonly operation: AdminOperation;
  readonly input: CallInput;
  readonly raw: RawInput;
  readonly call: Caller;
  readonly world: World;
}

export async function perform(performance: Performance): Promise<Outcome> {
  const { operation, input, raw, call, world } = performance;
  if (operation.bytes) return performBytes(performance);
  if (raw.all === true) return performAll(performance);
  const upload = operation.upload ? { upload: await uploadOf(operation, raw, world) } : {};
  const response = await call(operation, { ...input, ...upload }, callOptions(raw));
  if (response.status === 202) return waitForEnd(performance, response.value as OperationRecord);
  return {
    value: response.value,
    text: answerText(operation, response, world),
    exitStatus: exitStatusOf(operation, response.value),
  };
}

function callOptions({ ifMatch, idempotencyKey }: RawInput) {
  return {
    ...(typeof ifMatch === 'string' ? { ifMatch: ifMatch.replace(/^"(.*)"$/, '$1') } : {}),
    ...(typeof idempotencyKey === 'string' ? { idempotencyKey } : {}),
  };
}

async function performAll({ operation, input, call, world }: Performance): Promise<Outcome> {
  const items: unknown[] = [];
  let query = input.query;
  for (;;) {
    const { value } = await call(operation, { ...input, query });
    const page = value as { readonly items: readonly unknown[]; readonly nextCursor: string | null };
    items.push(...page.items);
    world.progress(`${items.length} items …`);
    if (page.nextCursor === null) return { value: items, text: listAnswerText(items, null, world) };
    query = { ...query, cursor: page.nextCursor };
  }
}

/** Waits for the end of long work. */
async function waitForEnd(
  { operation, raw, call, world }: Performance,
  begun: OperationRecord,
): Promise<Outcome> {
  const { id } = begun;
  if (raw.noWait === true) return { value: begun, text: `${id} has begun. ${laterText(id)}` };
  const record = await followWork({ call, world, name: operation.name }, begun);
  const result = record.result ?? null;
  return {
    value: record,
    text: result === null ? `Done (${id}).` : answerText(operation, { value: result }, world),
  };
}

/** Saves bytes to a file, or writes them to standard output when that is no terminal. */
async function performBytes({ operation, input, raw, call, world }: Performance): Promise<Outcome> {
  const response = (await call(operation, input)) as ClientResponse<{
    readonly body: ReadableStream<Uint8Array>;
  }>;
  const { body, ...said } = response.value;
  if (typeof raw.out !== 'string') {
    for await (const chunk of body) await world.output.write(chunk);
    return { value: undefined, text: '' };
  }
  const file = resolve(world.cwd, raw.out);
  const bytes = await saveStream(body, file, {
    force: raw.force === true,
    onBytes: (done) => world.progress(progressText(operation.name, { done, total: null, unit: 'bytes' })),
  });
  const value = { ...said, file, bytes };
  return { value, text: answerText(operation, { value }, world) };
}

async function uploadOf(
  { upload }: AdminOperation,
  { file, mediaType }: RawInput,
  { cwd }: World,
): Promise<Upload> {
  const path = resolve(cwd, String(file));
  const content = await openAsBlob(path).catch((cause: unknown) => {
    throw fileFailure(`${path} cannot be read`, cause);
  });
  const known = upload?.mediaTypes ?? [];
  const type = typeof mediaType === 'string' ? mediaType : await mediaTypeOf(content, known);
  if (!known.includes(type))
    throw new PlatformError(
      'validation_failed',
      `--media-type cannot be used: it must be ${known.join(' or ')}.`,
    );
  return { mediaType: type, content };
}

/** Recognises a SQLite file by its first bytes; the other type that is accepted is lines of JSON. */
async function mediaTypeOf(content: Blob, known: readonly string[]): Promise<string> {
  const isDatabase = (await content.slice(0, 15).text()) === 'SQLite format 3';
  return known.find((each) => each.includes('sqlite') === isDatabase) ?? '';
}

/** An answer that reports a defect is a failure too: a script learns of it by the exit code. */
function exitStatusOf({ name }: AdminOperation, value: unknown): PlatformError | undefined {
  if (name === 'admin-log.verify') return brokenLog(value as AdminLogVerification);
  if (name === 'hostnames.verify') return unverified(value as HostnameVerified);
  return undefined;
}

function brokenLog({ status, firstBad }: AdminLogVerification): PlatformError | undefined {
  if (status !== 'broken') return undefined;
  return new PlatformError(
    'runtime_fault',
    `The admin log is not as it was written: ${firstBad?.reason} at row ${firstBad?.sequence}.`,
    { reason: 'broken' },
  );
}

type HostnameVerified = z.output<(typeof adminOperations)['hostnames.verify']['output']>;

function unverified({ hostname, verified, reason }: HostnameVerified): PlatformError | undefined {
  if (verified) return undefined;
  return new PlatformError(
    'runtime_fault',
    `${hostname.hostname} is not verified (${reason ?? 'no proof was found'}).`,
    { reason: 'not_verified' },
  );
}
