/**
 * `npm start`: the whole platform in one process; `npm start -- restore`: its data from an archive;
 * `npm start -- recover`: one damaged database from its own history; `npm start -- go-back`: the state before an upgrade;
 * `npm start -- alerts-test`: a message to the places that alerts go to;
 * `npm start -- begin-anew`: a new installation in the place of a lost one; `npm start -- new-vault`: a new vault in the
 * place of one that is lost for good; `npm start -- vertical-secret`: the secret for a vertical that runs elsewhere.
 */
import { PlatformError } from '@freehold/contracts';
import { ControlPlaneError } from '@freehold/control-plane/client';
import { IssuerError } from '@freehold/issuer';
import { ALERTS_TEST_USAGE, testAlerts } from './alerts/channels.ts';
import { OperatorNotice } from './feeds/feeds.ts';
import { type Platform, startPlatform } from './platform.ts';
import { parseSettings, type Settings, SettingsError, type SignInMode } from './settings/settings.ts';
import { startFailureOf } from './start/checks.ts';
import { BEGIN_ANEW_USAGE, beginAnew } from './storage/installation.ts';
import { RECOVER_USAGE, recover } from './storage/recover.ts';
import { RESTORE_USAGE, type RestoreResult, restore } from './storage/restore.ts';
import { showVerticalSecret, VERTICAL_SECRET_USAGE } from './storage/secrets.ts';
import { GO_BACK_USAGE, goBack } from './storage/upgrades.ts';
import { beginNewVault, NEW_VAULT_USAGE } from './storage/vaults.ts';

/** Writes a line for each incident on standard error, for the operator: the error and its place, never the request. */
function reportIncident(
  error: unknown,
  where: { readonly kind: string; readonly key: string; readonly method: string },
): void {
  console.error(
    JSON.stringify({ level: 'error', at: new Date().toISOString(), where, error: describe(error) }),
  );
}

/**
 * The error and its direct cause. Deeper causes are other programs' messages, which may name people. Of a notice and of a
 * known failure (`PlatformError`) it is the sentence, which says it all; every other error has its stack.
 */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'a value that is no error was thrown';
  if (error instanceof OperatorNotice) return error.message;
  const { cause } = error;
  const behind =
    cause instanceof Error && !(cause instanceof PlatformError)
      ? `\ncaused by ${cause.name}: ${cause.message}`
      : '';
  if (error instanceof PlatformError) return `${error.message}${behind}`;
  return `${error.stack ?? error.message}${behind}`;
}

function announce(platform: Platform, { signIn, mail, production }: Settings): void {
  const { apiOrigin, issuerUrl, outboxUrl, tokenFile, archive, upgradeCopy, warnings, demo } = platform;
  const lines = [
    '',
    ...(demo ? [`  Application    ${demo.origin}`] : []),
    `  Control plane  ${apiOrigin}`,
    ...(issuerUrl === null ? [] : [`  Issuer         ${issuerUrl}`]),
    ...(outboxUrl === null ? [] : [`  Outbox         ${outboxUrl}`]),
    ...(production && mail === null
      ? ['  Mail           none: set FREEHOLD_SMTP_URL and FREEHOLD_MAIL_FROM']
      : []),
    `  Service token  ${tokenFile}`,
    ...(archive === null ? [] : [`  Archive        ${archive}`]),
    ...(upgradeCopy === null
      ? []
      : [`  Upgraded       the platform's databases as they were before are in ${upgradeCopy}`]),
    ...warnings.map((warning) => `  Warning        ${warning}`),
    '',
    ...(demo ? [...nextStep(demo, platform, signIn), ''] : []),
    `ready at ${demo?.origin ?? apiOrigin}`,
  ];
  console.log(lines.join('\n'));
}

function nextStep(
  { seatPending, tenant, scope, origin }: NonNullable<Platform['demo']>,
  { apiOrigin, tokenFile, issuerUrl, outboxUrl }: Platform,
  signIn: SignInMode,
): string[] {
  const mailAt = outboxUrl === null ? 'the mail you get' : `the mail at ${outboxUrl}`;
  const [way, first] = {
    hosted: [`Open ${origin} and sign in`, 'signs in'],
    directory: [`Open ${origin}, sign up with an e-mail address and read ${mailAt}`, 'signs in'],
    tokens: [
      `Call ${origin}/api with an access token of ${issuerUrl} for the resource ${origin}`,
      'calls with one',
    ],
  }[signIn];
  if (seatPending === null) return [`  ${way}.`];
  if (seatPending === 'window_open') {
    return [`  ${way}: the first person who ${first} within 15 minutes of the first start is the owner.`];
  }
  return [
    '  This application has no owner yet, and the time for the first sign-in is over. Make a link for the owner:',
    `    curl -s -X POST -H "authorization: Bearer $(cat ${tokenFile})" ${apiOrigin}/tenants/${tenant}/scopes/${scope}/owner-claim`,
  ];
}

/** Whether the message of an error is for the operator to read. */
function isForOperator(error: unknown): error is Error {
  return (
    error instanceof SettingsError ||
    error instanceof IssuerError ||
    error instanceof PlatformError ||
    error instanceof ControlPlaneError
  );
}

/** A command runs instead of a start. */
type Command = (args: readonly string[], settings: Settings) => Promise<RestoreResult>;

/** The status of a restore that is done although something is missing. */
const INCOMPLETE = 2;

/** A command that is complete, or fails. */
function complete(run: (args: readonly string[], settings: Settings) => Promise<readonly string[]>): Command {
  return async (args, settings) => ({ lines: await run(args, settings), isComplete: true });
}

const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['recover', complete(recover)],
  ['restore', restore],
  ['go-back', complete(goBack)],
  ['alerts-test', complete(testAlerts)],
  ['begin-anew', complete(beginAnew)],
  ['vertical-secret', complete(showVerticalSecret)],
  ['new-vault', complete(beginNewVault)],
]);

async function main(): Promise<void> {
  // Also for the files of its child processes, of SQLite and of a restore.
  process.umask(0o077);
  const settings = parseSettings(process.env);
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) return start(settings);
  const run = COMMANDS.get(command);
  if (!run)
    throw new SettingsError(
      `There is no command ${command}. Usage: npm start, ${RESTORE_USAGE}, ${RECOVER_USAGE}, ${GO_BACK_USAGE}, ${ALERTS_TEST_USAGE}, ${BEGIN_ANEW_USAGE}, ${NEW_VAULT_USAGE}, or ${VERTICAL_SECRET_USAGE}`,
    );
  const { lines, isComplete } = await run(args, settings);
  for (const line of lines) console.log(line);
  if (!isComplete) process.exitCode = INCOMPLETE;
}

async function start(settings: Settings): Promise<void> {
  const platform = await startPlatform(settings, reportIncident, {
    onLine: (line) => console.log(line),
  }).catch((error: unknown) => {
    const message = startFailureOf(error, settings.dataDirectory);
    throw message === null ? error : new SettingsError(message, { cause: error });
  });
  let closing = false;
  const stop = async (): Promise<void> => {
    // A second signal means that the operator does not want to wait for the stop.
    if (closing) process.exit(1);
    closing = true;
    await platform.close();
    process.exit(0);
  };
  // The reader of the log may be gone; the platform goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('SIGINT', () => void stop());
  process.on('SIGTERM', () => void stop());
  announce(platform, settings);
}

try {
  await main();
} catch (error) {
  console.error(isForOperator(error) ? error.message : describe(error));
  process.exit(1);
}
