/** A bucket on loopback: what a vertical in workerd keeps its attachments in, outside of the process that is killed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { makeSimulatedS3 } from '../../packages/engine-workerd/test/simulated-s3.ts';

export interface RunningBucket {
  /** Without the bucket, whose name is `attachments`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens one that is empty. It demands that each body is the one whose digest is named, and checks no signature. */
export async function startBucket(): Promise<RunningBucket> {
  const s3 = makeSimulatedS3();
  const server = createServer(
    getRequestListener(async (request) => {
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const body = await request.arrayBuffer();
      return s3.send(
        new Request(new URL(pathname + search, s3.endpoint), {
          method,
          headers,
          ...(body.byteLength === 0 ? {} : { body }),
        }),
      );
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.closeAllConnections();
      server.close();
      await closed;
    },
  };
}
