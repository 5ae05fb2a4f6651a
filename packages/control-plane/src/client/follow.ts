/** Follows long work to its end, as a program does that has nothing better to do meanwhile. */
import type { OperationRecord } from '@freehold/directory/declarations';
import type { CallOptions } from './call.ts';
import type { ControlPlaneClient } from './index.ts';

/** How long one request waits: shorter than what proxies in between commonly allow. */
const WAIT = '30s';

/**
 * Waits until long work has ended, and answers its record, however it ended: look at `state`.
 * @param onProgress told whenever something was heard.
 */
export async function waitForOperation(
  client: { readonly operations: Pick<ControlPlaneClient['operations'], 'get'> },
  { id }: Pick<OperationRecord, 'id'>,
  {
    onProgress,
    signal,
  }: Pick<CallOptions, 'signal'> & { readonly onProgress?: (record: OperationRecord) => void } = {},
): Promise<OperationRecord> {
  const options = signal === undefined ? {} : { signal };
  for (;;) {
    const record = await client.operations.get({ params: { operation: id }, query: { wait: WAIT } }, options);
    onProgress?.(record);
    if (record.finishedAt !== null) return record;
  }
}
