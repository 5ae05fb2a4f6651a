/** A bucket on loopback for the attachments of a vertical in workerd, outside of the process that is killed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { makeSimulatedS3 } from '../../packages/engine-workerd/test/simulated-s3.ts';

export interface RunningBucket {
  /** The address without the bucket's name, `attachments`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens an empty bucket. It checks the digest of each body, and no signature. */
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
