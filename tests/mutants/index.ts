/** All mutants, by area. */
import { APP } from './app.ts';
import { APPS } from './apps.ts';
import { AUTH } from './auth.ts';
import { CLI } from './cli.ts';
import { CONTRACTS_STORE } from './contracts-store.ts';
import { CONTROL_PLANE } from './control-plane.ts';
import { DEV } from './dev.ts';
import { DIRECTORY } from './directory.ts';
import { ENGINE_NODE } from './engine-node.ts';
import { ENGINE_WORKERD } from './engine-workerd.ts';
import { FIELDWORK } from './fieldwork.ts';
import { KERNEL } from './kernel.ts';
import { MCP } from './mcp.ts';
import type { Mutant } from './mutant.ts';
import { OIDC_RP } from './oidc-rp.ts';
import { RECORD_PAGES } from './record-pages.ts';
import { RUNTIME } from './runtime.ts';
import { VERTICAL_HOST } from './vertical-host.ts';

export const AREAS: Readonly<Record<string, readonly Mutant[]>> = {
  'contracts-store': CONTRACTS_STORE,
  kernel: KERNEL,
  'oidc-rp': OIDC_RP,
  auth: AUTH,
  'vertical-host': VERTICAL_HOST,
  mcp: MCP,
  directory: DIRECTORY,
  'control-plane': CONTROL_PLANE,
  'engine-node': ENGINE_NODE,
  'engine-workerd': ENGINE_WORKERD,
  cli: CLI,
  dev: DEV,
  app: APP,
  'record-pages': RECORD_PAGES,
  apps: APPS,
  fieldwork: FIELDWORK,
  runtime: RUNTIME,
};
