/**
 * A copy of a scope on its way out of a vertical: its bytes go through as they come. At no moment is more of it here
 * than the one piece that its reader waits for.
 */
import {
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  exportHead,
  PlatformError,
  type ScopeExport,
  type ScopeRef,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import type { BoundVertical } from '../gateway.ts';
import type { EffectDeps } from '../lib/effects.ts';
import { scopeRefOf } from '../scopes/target.ts';
import {
  bounded,
  type Deadline,
  parseJson,
  readText,
  refusal,
  requestOf,
  send,
  unusable,
  VERTICAL_TIMEOUT_MS,
} from './client.ts';
import { noVertical } from './reach.ts';

/**
 * Opens a copy of a scope, whichever rung of the ladder has it.
 * @param format default: the vertical's own.
 * @throws PlatformError as `askScope` does. The body fails with one of the same kind when the bytes break off.
 */
export async function openScopeCopy(
  { gateway, deadline }: Pick<EffectDeps, 'gateway' | 'deadline'>,
  scope: ScopeRecord,
  format: ExportFormat | undefined,
): Promise<ScopeExport> {
  const ref = scopeRefOf(scope);
  const bound = gateway.bound(scope.vertical);
  if (bound) return openCopy(bound, { scope: ref, format }, deadline);
  const local = gateway.local(scope.vertical);
  if (!local) throw noVertical(scope.vertical);
  const { body, ...given } = await local.exportScopeLocal({
    ...ref,
    ...(format === undefined ? {} : { format }),
  });
  const head = exportHead.safeParse(given);
  if (head.success && body instanceof ReadableStream) return { ...head.data, body };
  throw unusable('The application answered something that is not part of its contract.');
}

interface CopyQuestion {
  readonly scope: ScopeRef;
  /** Default: the vertical's own. */
  readonly format: ExportFormat | undefined;
}

/**
 * Opens a copy from a worker. It may keep silent for 30 seconds at a time, and is told to stop when nobody reads on.
 * @throws PlatformError as `askVertical` does. The body fails with one of the same kind when the bytes break off.
 */
async function openCopy(
  vertical: BoundVertical,
  { scope, format }: CopyQuestion,
  deadline: Deadline,
): Promise<ScopeExport> {
  const stop = new AbortController();
  const wait = <T>(work: Promise<T>): Promise<T> => bounded(deadline(VERTICAL_TIMEOUT_MS), work);
  const request = requestOf(vertical, { path: 'export', scope, query: { format } }, stop.signal, '*/*');
  const sent = send(vertical, request);
  try {
    const response = await wait(sent);
    if (!response.ok) throw refusal(response, parseJson(await wait(readText(response))), false);
    return { ...headOf(response, format), body: received(response.body, wait, stop) };
  } catch (error) {
    stop.abort(error);
    sent.then(dropBody, () => undefined);
    throw error;
  }
}

/** What the headers say of the bytes. @throws PlatformError `runtime_fault`, reason `vertical_answer`. */
function headOf({ headers }: Response, asked: ExportFormat | undefined): Omit<ScopeExport, 'body'> {
  const head = exportHead.safeParse({
    format: headers.get(EXPORT_FORMAT_HEADER),
    bookmark: headers.get(EXPORT_BOOKMARK_HEADER),
  });
  const mediaType = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (
    head.success &&
    mediaType === EXPORT_MEDIA_TYPES[head.data.format] &&
    head.data.format === (asked ?? head.data.format)
  )
    return head.data;
  throw unusable('The application answered something that is not part of its contract.');
}

function received(
  source: ReadableStream<Uint8Array> | null,
  wait: <T>(work: Promise<T>) => Promise<T>,
  stop: AbortController,
): ReadableStream<Uint8Array> {
  if (!source) throw unusable('The application answered something that is not part of its contract.');
  const reader = source.getReader();
  const end = (reason: unknown): void => {
    reader.cancel(reason).catch(() => undefined);
    stop.abort(reason);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await wait(reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (cause) {
          const error =
            cause instanceof PlatformError
              ? cause
              : unusable('The answer of the application broke off.', cause);
          end(error);
          controller.error(error);
        }
      },
      cancel: end,
    },
    // Nothing is read ahead of whoever reads.
    { highWaterMark: 0 },
  );
}

function dropBody({ body }: Response): void {
  if (body && !body.locked) body.cancel().catch(() => undefined);
}
