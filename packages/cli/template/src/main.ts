/** `npm start` runs a development server on this machine, with one instance of the application. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PlatformError } from '@freehold/contracts';
import { openNodeEngine } from '@freehold/engine-node';
import { type DeliveryRunner, makeDeliveryRunner } from '@freehold/kernel';
import { getRequestListener } from '@hono/node-server';
import { makeApp } from './app.ts';
import { type Identity, INSTANCE, provisionInstance } from './development.ts';
import type { Node } from './env.ts';
import { manifest } from './manifest.ts';

/** Reachable from this machine only. */
const HOST = '127.0.0.1';

/** A mistake in the settings; the message is one sentence. */
class StartError extends Error {
  override readonly name = 'StartError';
}

interface Settings {
  readonly port: number;
  readonly dataDirectory: string;
  readonly platformSecret: string;
  readonly identity: Identity | null;
}

/** Reads the environment; README.md has the same list. An empty variable is an unset one. */
function readSettings(env: NodeJS.ProcessEnv): Settings {
  const port = Number(env.PORT || 8790);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new StartError('PORT must be a whole number from 0 to 65535.');
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET } = env;
  if (issuer && !clientId) throw new StartError('OIDC_CLIENT_ID is missing: OIDC_ISSUER needs one.');
  return {
    port,
    dataDirectory: env.DATA_DIRECTORY || '.data',
    // A random secret closes /internal to other programs.
    platformSecret: env.PLATFORM_SECRET || randomBytes(32).toString('base64url'),
    identity: issuer && clientId ? { issuer, clientId, clientSecret: OIDC_CLIENT_SECRET || undefined } : null,
  };
}

/** Writes one line for an incident: what broke and where, never the request. */
function onIncident(error: unknown, where: { readonly kind: string; readonly method: string }): void {
  console.error(`${where.kind} ${where.method}: ${error instanceof Error ? error.stack : 'not an error'}`);
}

async function start(): Promise<void> {
  // Variables of the process win over those of the file.
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { port, dataDirectory, platformSecret, identity } = readSettings(process.env);
  const engine = openNodeEngine({ dataDirectory, onIncident });
  const app = makeApp({
    engine,
    platformSecret,
    env: process.env,
    now: Date.now,
    random: (bytes) => randomBytes(bytes),
    fetch: (url, init) => fetch(url, init),
    onIncident,
    onWork: (scopeId) => deliveries.wake(scopeId),
  });
  // Runs subscriptions, executors and schedules.
  const deliveries: DeliveryRunner = makeDeliveryRunner({
    vertical: app.units.scope.vertical,
    scope: app.host.scope,
    now: Date.now,
    onIncident,
  });

  let node: Node | null = null;
  const server = createServer(
    getRequestListener((request, { incoming }) =>
      app.app.fetch(request, { node, clientAddress: incoming.socket.remoteAddress ?? null }),
    ),
  );
  server.listen(port, HOST);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`Cannot listen on port ${port} (${error.code}): set PORT to a free one.`);
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;

  // Without a way to sign in there is no instance: its 15 minutes for the first owner must not begin.
  if (identity) {
    const seat = await provisionInstance(app, { identity, platformSecret });
    node = { tenant: INSTANCE.tenantId, scope: INSTANCE.scopeId, origin };
    await deliveries.resume([INSTANCE.scopeId]);
    if (seat.reason === 'window_open')
      console.log(`The first person who signs in at ${origin}/api/auth/login becomes the owner.`);
    else if (seat.state === 'pending')
      console.log(`No person signed in within 15 minutes: delete ${dataDirectory} and start again.`);
  } else {
    console.log('Sign-in is off: OIDC_ISSUER is not set (README.md, "Let people in").');
  }

  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await deliveries.stop();
    await engine.close();
    process.exit(0);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());
  console.log(`ready: ${manifest.name} at ${origin}`);
}

try {
  await start();
} catch (error) {
  const isForPeople = error instanceof StartError || error instanceof PlatformError;
  console.error(isForPeople ? error.message : error);
  process.exit(1);
}
