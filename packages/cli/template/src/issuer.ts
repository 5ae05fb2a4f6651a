/**
 * `npm run issuer` starts the development issuer, which lets you sign in as any person. It knows the application, and
 * its programs as the public client `freehold-cli`, which use any local port or the device flow.
 */
import { existsSync } from 'node:fs';
import { manifest } from './manifest.ts';

/** Imported at run time, so that the types of its libraries are not needed here. */
const ISSUER: string = '@freehold/issuer';

/** The used part of its interface. */
interface IssuerModule {
  startIssuer(options: {
    readonly port: number;
    readonly clients: readonly {
      readonly clientId: string;
      readonly clientSecret?: string;
      readonly redirectUris: readonly string[];
      readonly postLogoutRedirectUris: readonly string[];
      readonly name: string;
    }[];
  }): Promise<{ readonly url: string; close(): Promise<void> }>;
}

async function start(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env');
  // As in main.ts, an empty variable is an unset one.
  const { PORT, ISSUER_PORT, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = process.env;
  const origin = `http://localhost:${PORT || 8790}`;
  const { startIssuer } = (await import(ISSUER)) as IssuerModule;
  const issuer = await startIssuer({
    port: Number(ISSUER_PORT || 8788),
    clients: [
      {
        clientId: OIDC_CLIENT_ID || 'freehold-dev',
        clientSecret: OIDC_CLIENT_SECRET || 'freehold-dev-secret',
        redirectUris: [`${origin}/api/auth/callback`],
        postLogoutRedirectUris: [`${origin}/`],
        name: manifest.name,
      },
      {
        clientId: 'freehold-cli',
        redirectUris: ['http://127.0.0.1/callback'],
        postLogoutRedirectUris: [],
        name: `${manifest.name} on the command line`,
      },
    ],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void issuer.close().then(() => process.exit(0)));
  process.stdout.write(`ready: development issuer at ${issuer.url} for ${origin}\n`);
}

try {
  await start();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
