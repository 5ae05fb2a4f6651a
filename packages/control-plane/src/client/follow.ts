/** Waits for the end of long work. */
import type { OperationRecord } from '@freehold/directory/declarations';
import type { CallOptions } from './call.ts';
import type { ControlPlaneClient } from './index.ts';

/** The wait of one request: shorter than the usual limit of proxies. */
const WAIT = '30s';

/**
 * Waits until long work has ended, and returns its record, whatever its `state`.
 * @param onProgress called with each record that is received.
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
