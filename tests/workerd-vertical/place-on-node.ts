/** Fieldwork on Node as the embedded platform runs it: in its own process, called by its router in code. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeApp } from '@freehold/app';
import { makeNodeBlobStore, openNodeEngine } from '@freehold/engine-node';
import { fieldwork as declared } from '@freehold/fieldwork';
import { type DeliveryRunner, makeDeliveryRunner, makeUnitVault, makeVaultUnit } from '@freehold/kernel';
import { makeKeyring } from '@freehold/store';
import { getRequestListener } from '@hono/node-server';
import { nodeAt } from './fixture.ts';
import { makeWebFiles } from './pages.ts';
import type { OpenPlace } from './place.ts';

export const openOnNode: OpenPlace = async ({ platformSecret, sealKey, pages }) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'freehold-fieldwork-'));
  const incidents: string[] = [];
  const onIncident = (error: unknown): void => void incidents.push(String(error));
  const now = (): number => Date.now();
  const engine = openNodeEngine({ dataDirectory, now, onIncident });
  const keyring = makeKeyring([sealKey]);
  const vaultUnit = makeVaultUnit(keyring);
  const { app, host, units } = makeApp(declared, {
    engine,
    vault: makeUnitVault((tenantId) => engine.unit(vaultUnit, tenantId, { create: true })),
    sealing: keyring,
    blobs: (scopeId) => makeNodeBlobStore({ dataDirectory, scopeId, now }),
    platformSecret,
    now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    fetch: (url, init) => fetch(url, init),
    onIncident,
    onWork: (scopeId) => runner.wake(scopeId),
    webFiles: makeWebFiles(pages),
  });
  const runner: DeliveryRunner = makeDeliveryRunner({
    vertical: units.scope.vertical,
    scope: host.scope,
    attachments: host.attachments,
    now,
    onIncident,
  });
  const server = createServer(
    getRequestListener((request) => {
      const claims = nodeAt(request.headers.get('host') ?? '', '127.0.0.1');
      if (claims === null) return app.fetch(request, { node: null });
      const { clientAddress, ...node } = claims;
      return app.fetch(request, { node, clientAddress });
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    managementUrl: `http://127.0.0.1:${port}`,
    incidents: () => incidents,
    cutPower: () => Promise.reject(new Error('this process is the one that the tests run in')),
    close: async () => {
      const closed = once(server, 'close');
      server.closeAllConnections();
      server.close();
      await closed;
      await runner.stop();
      await engine.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
};
