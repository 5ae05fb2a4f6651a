/** `npm start`: the whole platform in one process. */
import { PlatformError } from '@freehold/contracts';
import { IssuerError } from '@freehold/issuer';
import type { Demo } from './demo.ts';
import { type Platform, startPlatform } from './platform.ts';
import { parseSettings, SettingsError } from './settings.ts';

/** One line an incident, on standard error, for the operator: what broke and where, never what was sent. */
function reportIncident(
  error: unknown,
  where: { readonly kind: string; readonly key: string; readonly method: string },
): void {
  console.error(
    JSON.stringify({ level: 'error', at: new Date().toISOString(), where, error: describe(error) }),
  );
}

function describe(error: unknown): string {
  return error instanceof Error
    ? (error.stack ?? error.message)
    : 'something that is not an error was thrown';
}

function announce({ port, issuerUrl, tokenFile, demo }: Platform): void {
  const api = `http://api.localhost:${port}`;
  const application = demo && `http://${demo.hostname}:${port}`;
  const lines = [
    '',
    ...(application ? [`  Application    ${application}`] : []),
    `  Control plane  ${api}`,
    `  Issuer         ${issuerUrl}`,
    `  Service token  ${tokenFile}`,
    '',
    ...(demo && application ? [...nextStep(demo, { application, api, tokenFile }), ''] : []),
    `ready at ${application ?? api}`,
  ];
  console.log(lines.join('\n'));
}

function nextStep(
  { seatPending, tenant, scope }: Demo,
  {
    application,
    api,
    tokenFile,
  }: { readonly application: string; readonly api: string; readonly tokenFile: string },
): string[] {
  if (seatPending === null) return [`  Open ${application} and sign in.`];
  if (seatPending === 'window_open') {
    return [
      `  Open ${application} and sign in: the first person who does so within 15 minutes of the first start is the owner.`,
    ];
  }
  return [
    '  Nobody owns this application yet, and the time for the first sign-in is over. Make a link for the owner:',
    `    curl -s -X POST -H "authorization: Bearer $(cat ${tokenFile})" ${api}/tenants/${tenant}/scopes/${scope}/owner-claim`,
  ];
}

/** Whether an error was made to be read by whoever started the platform. */
function isForOperator(error: unknown): error is Error {
  return error instanceof SettingsError || error instanceof IssuerError || error instanceof PlatformError;
}

async function main(): Promise<void> {
  const platform = await startPlatform(parseSettings(process.env), reportIncident);
  let closing = false;
  const stop = async (): Promise<void> => {
    // A second signal while the first is being obeyed means that the operator has waited long enough.
    if (closing) process.exit(1);
    closing = true;
    await platform.close();
    process.exit(0);
  };
  process.on('SIGINT', () => void stop());
  process.on('SIGTERM', () => void stop());
  announce(platform);
}

try {
  await main();
} catch (error) {
  console.error(isForOperator(error) ? error.message : describe(error));
  process.exit(1);
}
