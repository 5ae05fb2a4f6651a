/** The checks of a declaration that concern what the application layer adds; `defineVertical` checks the rest. */
import type { AppDeclaration } from './app.ts';
import { requireLook } from './look.ts';

/** The fields of a declaration; any other is a mistake that would be ignored in silence. */
const FIELDS = new Set<string>([
  'manifest',
  'migrations',
  'operations',
  'on',
  'executors',
  'schedules',
  'retention',
  'chainMax',
  'grants',
  'attachments',
  'erasure',
  'publicSurface',
  'models',
  'look',
  'web',
  'openapi',
  'routes',
  'authenticatedPrincipal',
] satisfies (keyof AppDeclaration)[]);

/** @throws TypeError that names the fault. */
export function requireDeclaration(declaration: AppDeclaration): void {
  const unknown = Object.keys(declaration).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) throw new TypeError(`app.${unknown}: is no field of a declaration`);
  requireLook(declaration.look ?? {});
}
