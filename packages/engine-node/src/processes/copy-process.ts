/** The process that works on copies, so that no call waits for it. See `copy-workers.ts` for its tasks. */
import { answerRequests } from './answer-requests.ts';
import { capture, compressDatabase } from './capture.ts';
import { examine } from './examine.ts';
import { materialise } from './materialise.ts';
import { dump } from './ndjson-dump.ts';
import { load } from './ndjson-load.ts';

answerRequests({
  capture,
  compress: ({ from, to }: { from: string; to: string }) => compressDatabase(from, to),
  examine,
  materialise: ({ way, to }: { way: Parameters<typeof materialise>[0]; to: string }) => materialise(way, to),
  dump,
  load,
});
