/** Streams a copy of a scope out of a vertical. At no moment is more of it in memory than the piece that its reader waits for. */
import {
  EXPORT_BOOKMARK_HEADER,
  EXPORT_FORMAT_HEADER,
  EXPORT_MEDIA_TYPES,
  type ExportFormat,
  exportHead,
  PlatformError,
  type ScopeExport,
  type ScopeRef,
  type ScopeSnapshots,
  type VerticalScopeHost,
} from '@freehold/contracts';
import type { ScopeRecord } from '../declarations/records.ts';
import {
  bounded,
  type Deadline,
  judge,
  parseJson,
  readText,
  refusal,
  requestOf,
  send,
  unusable,
  VERTICAL_TIMEOUT_MS,
  type VerticalAccess,
} from './client.ts';
import type { BoundVertical } from './gateway.ts';
import { noVertical } from './reach.ts';

/** The time until the first byte: a worker writes its whole copy before, 1 GiB in about a minute. */
const COPY_WRITTEN_MS = 10 * 60 * 1_000;

const FOREIGN = 'The application answered something that is not part of its contract.';

/**
 * Opens a copy of a scope by the read ladder.
 * @param format default: the vertical's own.
 * @throws PlatformError as `askScope` does. The body fails with one of the same kind when the bytes break off.
 */
export async function openScopeCopy(
  { gateway, deadline }: VerticalAccess,
  { tenant, id, vertical }: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>,
  format: ExportFormat | undefined,
): Promise<ScopeExport> {
  const scope = { tenantId: tenant, scopeId: id };
  const bound = gateway.bound(vertical);
  if (bound) return openCopy(bound, { scope, path: 'export', format }, deadline);
  const local = gateway.local(vertical);
  if (!local) throw noVertical(vertical);
  return judged(await local.exportScopeLocal({ ...scope, ...(format === undefined ? {} : { format }) }));
}

/** Opens a snapshot that a vertical keeps, by the read ladder. @throws PlatformError as {@link openScopeCopy}. */
export async function openSnapshot(
  { gateway, deadline }: VerticalAccess,
  { tenant, id, vertical }: Pick<ScopeRecord, 'tenant' | 'id' | 'vertical'>,
  snapshot: string,
): Promise<ScopeExport> {
  const scope = { tenantId: tenant, scopeId: id };
  const bound = gateway.bound(vertical);
  if (bound) return openCopy(bound, { scope, path: `snapshots/${snapshot}`, format: undefined }, deadline);
  const local: (VerticalScopeHost & Partial<ScopeSnapshots>) | null = gateway.local(vertical);
  if (!local) throw noVertical(vertical);
  if (!local.openSnapshotLocal) throw snapshotsStay(vertical);
  return judged(await local.openSnapshotLocal({ ...scope, snapshot }));
}

/** The vertical has no way to open or delete its snapshots for the platform. */
export function snapshotsStay(vertical: string): PlatformError {
  return new PlatformError(
    'unsupported',
    `The vertical ${vertical} keeps its snapshots to itself: it neither opens nor deletes one for the platform. An export can be kept outside; a deployed vertical is deployed again.`,
    { reason: 'snapshots_stay' },
  );
}

function judged({ body, ...given }: ScopeExport): ScopeExport {
  const head = judge(exportHead, given);
  if (body instanceof ReadableStream) return { ...head, body };
  throw unusable(FOREIGN);
}

/**
 * Opens a copy from a worker. Once it has answered, it may be silent for 30 seconds at a time; it is told to stop when its
 * reader leaves.
 */
async function openCopy(
  vertical: BoundVertical,
  {
    scope,
    path,
    format,
  }: { readonly scope: ScopeRef; readonly path: string; readonly format: ExportFormat | undefined },
  deadline: Deadline,
): Promise<ScopeExport> {
  const stop = new AbortController();
  const wait = <T>(work: Promise<T>): Promise<T> => bounded(deadline(VERTICAL_TIMEOUT_MS), work);
  const request = requestOf(vertical, { path, scope, query: { format } }, stop.signal, '*/*');
  const sent = send(vertical, request);
  try {
    const response = await bounded(deadline(COPY_WRITTEN_MS), sent);
    if (!response.ok) throw refusal(response, parseJson(await wait(readText(response))), false);
    return { ...headOf(response, format), body: received(response.body, wait, stop) };
  } catch (error) {
    stop.abort(error);
    sent.then(dropBody, () => undefined);
    throw error;
  }
}

/** Reads the head of a copy from the headers. @throws PlatformError `runtime_fault`, reason `vertical_answer`. */
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
  throw unusable(FOREIGN);
}

function received(
  source: ReadableStream<Uint8Array> | null,
  wait: <T>(work: Promise<T>) => Promise<T>,
  stop: AbortController,
): ReadableStream<Uint8Array> {
  if (!source) throw unusable(FOREIGN);
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
    // Nothing is read ahead.
    { highWaterMark: 0 },
  );
}

function dropBody({ body }: Response): void {
  if (body && !body.locked) body.cancel().catch(() => undefined);
}
