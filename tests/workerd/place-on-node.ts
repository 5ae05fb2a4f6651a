/** Runs the same application on Node: the embedded engine behind Node's own HTTP server. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { getRequestListener } from '@hono/node-server';
import { makeApplication } from './application.ts';
import type { Place } from './place.ts';

/** Opens it over a data directory that `close` removes. */
export async function openOnNode(env: Readonly<Record<string, string>>): Promise<Place> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-identity-'));
  let running = await serve({ env, dataDirectory, port: 0 });
  const { port } = running.server.address() as AddressInfo;
  return {
    port,
    restart: async () => {
      await end(running);
      running = await serve({ env, dataDirectory, port });
    },
    close: async () => {
      await end(running);
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
}

interface Running {
  readonly server: Server;
  readonly engine: NodeEngine;
}

async function serve({
  env,
  dataDirectory,
  port,
}: {
  readonly env: Readonly<Record<string, string>>;
  readonly dataDirectory: string;
  readonly port: number;
}): Promise<Running> {
  const incidents: string[] = [];
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: (error, { kind, method }) => void incidents.push(`${kind} ${method}: ${error}`),
  });
  const server = createServer(getRequestListener(makeApplication({ engine, env, incidents })));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, engine };
}

async function end({ server, engine }: Running): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await engine.close();
}
