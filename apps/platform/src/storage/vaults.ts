/**
 * Which tenants have a vault. The unit `platform` keeps a row for each, so that a vault that is gone is told from one that
 * was never made: a new one beside sealed data would hide the loss until the next update.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ID_PREFIXES, idSchema } from '@freehold/contracts';
import { giveUpUnit, lockDataDirectory, type NodeEngine, openNodeEngine } from '@freehold/engine-node';
import { type VaultUnit, vaultMissing } from '@freehold/kernel';
import type { IncidentSink } from '@freehold/store';
import { OperatorNotice } from '../feeds/feeds.ts';
import { openArchive } from '../settings/archive-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';
import { PLATFORM_KEY, platformUnit } from './platform-unit.ts';

const FILE = /^(.+)\.sqlite$/;

export interface VaultsOptions {
  readonly engine: Pick<NodeEngine, 'unit' | 'archived'>;
  readonly vaultUnit: VaultUnit;
  readonly dataDirectory: string;
  readonly onIncident: IncidentSink;
}

export class Vaults {
  readonly #options: VaultsOptions;
  /** The tenants whose vault was found to be gone, at the start or at a use. */
  readonly #lost = new Set<string>();

  constructor(options: VaultsOptions) {
    this.#options = options;
  }

  /** Makes the vault of a new tenant. @throws PlatformError `vault_missing` for one that is gone, which is reported. */
  async admit(tenant: string): Promise<void> {
    const { engine, vaultUnit, dataDirectory, onIncident } = this.#options;
    if (await this.#platform().hasVault({ tenant })) {
      if (existsSync(vaultFile(dataDirectory, tenant))) return;
      this.#lost.add(tenant);
      onIncident(new OperatorNotice(lossOf(dataDirectory, tenant)), {
        kind: 'vault',
        key: tenant,
        method: 'open',
      });
      throw vaultMissing();
    }
    // Its file is there, and in the archive, before the row is: a crash in between loses no vault and claims no loss.
    await engine.unit(vaultUnit, tenant, { create: true }).reseal({ limit: 0 });
    await engine.archived(vaultUnit, tenant);
    await this.#platform().noteVaults({ tenants: [tenant] });
  }

  /** Forgets the vault of a tenant that was reaped. */
  async forget(tenant: string): Promise<void> {
    await this.#platform().forgetVault({ tenant });
    this.#lost.delete(tenant);
  }

  /** Returns how many vaults are known to be gone at this moment. */
  missing(): number {
    const { dataDirectory } = this.#options;
    return [...this.#lost].filter((tenant) => !existsSync(vaultFile(dataDirectory, tenant))).length;
  }

  /** Notes the vaults of an earlier version, and returns a warning for each that is gone. For a start. */
  async check(): Promise<readonly string[]> {
    const { dataDirectory } = this.#options;
    const there = new Set(vaultsIn(dataDirectory));
    const known = new Set(await this.#platform().vaults());
    const unknown = [...there].filter((tenant) => !known.has(tenant));
    if (unknown.length > 0) await this.#platform().noteVaults({ tenants: unknown });
    const lost = [...known].filter((tenant) => !there.has(tenant));
    for (const tenant of lost) this.#lost.add(tenant);
    return lost.map((tenant) => lossOf(dataDirectory, tenant));
  }

  #platform() {
    return this.#options.engine.unit(platformUnit, PLATFORM_KEY, { create: true });
  }
}

function vaultFile(dataDirectory: string, tenant: string): string {
  return join(dataDirectory, 'vault', `${tenant}.sqlite`);
}

function vaultsIn(dataDirectory: string): string[] {
  const folder = join(dataDirectory, 'vault');
  return existsSync(folder) ? readdirSync(folder).flatMap((name) => FILE.exec(name)?.[1] ?? []) : [];
}

/** Returns the sentence for the operator: the loss, the rest, and the place of the copy. */
function lossOf(dataDirectory: string, tenant: string): string {
  const file = vaultFile(dataDirectory, tenant);
  return `The vault of tenant ${tenant} is gone (${file}): what is sealed about its people does not open, and nothing new about them is stored, until the file is back. Everything else of the tenant is there. Stop the platform and put the file back, from the archive (docs/operating.md, "A vault that is gone") or from your copy of the data directory.`;
}

export const NEW_VAULT_USAGE = 'npm start -- new-vault TENANT --lose-sealed-data';

/**
 * Accepts that a vault is lost for good: the next use makes a new one. What was sealed under the lost keys never opens.
 * Returns the lines to show.
 * @throws SettingsError with one sentence.
 */
export async function beginNewVault(
  args: readonly string[],
  { archive, dataDirectory }: Pick<Settings, 'archive' | 'dataDirectory'>,
): Promise<readonly string[]> {
  const tenant = readTenant(args);
  const isGone = existsSync(dataDirectory) && !existsSync(vaultFile(dataDirectory, tenant));
  if (!isGone) throw new SettingsError(`The vault of ${tenant} is not gone: there is nothing to begin anew.`);
  // The row goes last: until then the command can be repeated.
  const wasShipped = giveUp(dataDirectory, tenant);
  const engine = openNodeEngine({
    dataDirectory,
    onIncident: () => undefined,
    // Without it the row would be missing in the history that the archive follows.
    ...(archive === null ? {} : { archive: { archive: openArchive(archive) } }),
  });
  try {
    const platform = engine.unit(platformUnit, PLATFORM_KEY, { create: true });
    if (!wasShipped && !(await platform.hasVault({ tenant })))
      throw new SettingsError(`Tenant ${tenant} never had a vault here: its first use makes one.`);
    await platform.forgetVault({ tenant });
  } finally {
    await engine.close();
  }
  return [
    `The next use makes a new vault for ${tenant}. What was sealed under the lost keys never opens; erase the people whom it was about.`,
  ];
}

function giveUp(dataDirectory: string, tenant: string): boolean {
  const unlock = lockDataDirectory(dataDirectory);
  try {
    return giveUpUnit(dataDirectory, { kind: 'vault', key: tenant });
  } finally {
    unlock();
  }
}

function readTenant(args: readonly string[]): string {
  const usage = new SettingsError(`This cannot be done so. Usage: ${NEW_VAULT_USAGE}`);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { 'lose-sealed-data': { type: 'boolean' } },
      allowPositionals: true,
    });
    const [tenant = ''] = positionals;
    if (positionals.length === 1 && values['lose-sealed-data'] && isTenant(tenant)) return tenant;
  } catch {
    throw usage;
  }
  throw usage;
}

function isTenant(text: string): boolean {
  return idSchema(ID_PREFIXES.tenant).safeParse(text).success;
}
