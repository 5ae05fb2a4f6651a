/**
 * Runs the development issuer alone. Reads ISSUER_PORT (default 8788), and a relying party's variables, so that both
 * can share one environment file: OIDC_CLIENT_ID (default `freehold-dev`), OIDC_CLIENT_SECRET (default
 * `freehold-dev-secret`) and BASE_URL (default `http://localhost:8787`).
 */
import { IssuerError } from './errors.ts';
import { startIssuer } from './start-issuer.ts';

const { env } = process;

try {
  const baseUrl = new URL(env.BASE_URL ?? 'http://localhost:8787').origin;
  const issuer = await startIssuer({
    port: parsePort(env.ISSUER_PORT ?? '8788'),
    clients: [
      {
        clientId: env.OIDC_CLIENT_ID ?? 'freehold-dev',
        clientSecret: env.OIDC_CLIENT_SECRET ?? 'freehold-dev-secret',
        redirectUris: [`${baseUrl}/api/auth/callback`],
        postLogoutRedirectUris: [`${baseUrl}/`],
        name: 'Freehold',
      },
    ],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void issuer.close().then(() => process.exit(0)));
  }
  process.stdout.write(`Development issuer at ${issuer.url} for ${baseUrl}\n`);
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exitCode = 1;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new IssuerError('listen_failed', `ISSUER_PORT is a number from 0 to 65535, and not "${text}".`);
}

function describe(error: unknown): string {
  if (error instanceof IssuerError) return error.message;
  return error instanceof Error ? `The development issuer could not start: ${error.message}` : String(error);
}
