/**
 * A router for tests in front of a vertical in another process: it finds the instance by the host name and states it
 * in a header that it signs for each request. A visitor's own header is dropped.
 */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import {
  NODE_ASSERTION_AGE_MAX_S,
  NODE_ASSERTION_HEADER,
  NODE_ASSERTION_ISSUER,
  NODE_ASSERTION_TYPE,
  type NodeClaims,
} from '../../packages/app/src/worker/node-assertion.ts';
import { nodeAt } from './fixture.ts';

export interface NodeSigner {
  /** The keys that the vertical is bound to. */
  readonly keys: JSONWebKeySet;
  /** `over` replaces claims of the token itself, for tokens that must be refused. */
  sign(claims: NodeClaims, over?: TokenOverrides): Promise<string>;
}

export interface TokenOverrides {
  readonly issuer?: string;
  readonly audience?: string;
  readonly type?: string;
  /** Milliseconds since the epoch. */
  readonly issuedAtMs?: number;
  readonly lifetimeS?: number;
}

/** Makes a key pair, and a signer. */
export async function makeNodeSigner(): Promise<NodeSigner> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA');
  const key = { ...(await exportJWK(publicKey)), kid: 'router-1', alg: 'EdDSA', use: 'sig' };
  return {
    keys: { keys: [key] },
    sign: (claims, over = {}) => {
      const issuedAtS = Math.floor((over.issuedAtMs ?? Date.now()) / 1_000);
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: over.type ?? NODE_ASSERTION_TYPE })
        .setIssuer(over.issuer ?? NODE_ASSERTION_ISSUER)
        .setAudience(over.audience ?? claims.vertical)
        .setIssuedAt(issuedAtS)
        .setExpirationTime(issuedAtS + (over.lifetimeS ?? NODE_ASSERTION_AGE_MAX_S))
        .sign(privateKey);
    },
  };
}

export interface Router {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts a router in front of a vertical on loopback. */
export async function startRouter(signer: NodeSigner, verticalPort: number): Promise<Router> {
  const agent = new Agent({ keepAlive: true });

  const headersFor = async (incoming: IncomingMessage): Promise<Record<string, string | string[]> | null> => {
    const claims = nodeAt(incoming.headers.host ?? '', incoming.socket.remoteAddress ?? null);
    // The management contract is between the platform and the vertical: it does not exist for the public.
    if (claims === null || /^\/internal(\/|$)/i.test(incoming.url ?? '')) return null;
    const headers = { ...incoming.headers, [NODE_ASSERTION_HEADER]: await signer.sign(claims) };
    return headers as Record<string, string | string[]>;
  };

  const server = createServer(async (incoming, outgoing) => {
    const headers = await headersFor(incoming);
    if (headers === null) return void outgoing.writeHead(404).end();
    const { method, url: path } = incoming;
    const forwarded = httpRequest({ agent, host: '127.0.0.1', port: verticalPort, method, path, headers });
    forwarded.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    // A broken answer must not look complete, nor a missing one like an answer.
    forwarded.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    incoming.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close');
      server.closeAllConnections();
      server.close();
      await closed;
      agent.destroy();
    },
  };
}
