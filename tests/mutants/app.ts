/** Mutants of the application layer: the check of a declaration, and the supplied routes. */
import { inNode, type Mutant } from './mutant.ts';

const src = 'packages/app/src';
const mistakes = 'packages/app/test/mistakes.test.ts';
const settings = 'examples/fieldwork/test/settings.test.ts';

export const APP: readonly Mutant[] = [
  {
    id: 'app-supplied-route-taken',
    requirement: null,
    claim: 'An operation at the address of a supplied route is accepted, and is never reached.',
    file: `${src}/declaration/check-operations.ts`,
    find: 'if (route === undefined) return;',
    replace: 'if (route !== null) return;',
    killer: inNode(mistakes, 'with a supplied route is refused'),
  },
  {
    id: 'app-operation-before-the-gate',
    requirement: 'A-04',
    claim: 'An operation outside of /api is accepted, where the gate of an unwired sign-in does not stand.',
    file: `${src}/declaration/check-operations.ts`,
    find: "if (!path.startsWith('/api/')) {",
    replace: "if (path === '/api') {",
    killer: inNode(mistakes, 'with a path that pages have is refused'),
  },
  {
    id: 'app-same-address',
    requirement: 'D-09',
    claim: 'Two operations of one address are accepted by the declaration.',
    file: `${src}/declaration/check-operations.ts`,
    find: 'if (other === undefined) continue;',
    replace: 'if (other !== null) continue;',
    killer: inNode(mistakes, 'with two operations of one address is refused'),
  },
  {
    id: 'app-migration-version-twice',
    requirement: null,
    claim: 'A declaration may use the version of a migration twice.',
    file: `${src}/declaration/check-parts.ts`,
    find: 'version <= last',
    replace: 'version < last',
    killer: inNode(mistakes, 'with a version that is used twice is refused'),
  },
  {
    id: 'app-migration-of-the-spine',
    requirement: null,
    claim:
      'A declaration with a migration of the platform’s tables is accepted, and fails when a scope is opened.',
    file: `${src}/declaration/check-parts.ts`,
    find: 'checkScript(sql, PROTECTED);',
    replace: '',
    killer: inNode(mistakes, 'with a migration of the platform’s tables is refused'),
  },
  {
    id: 'app-models-without-tables',
    requirement: null,
    claim: 'A declaration with models is accepted without the tables of their accounts.',
    file: `${src}/declaration/check-parts.ts`,
    find: "if (!['model_months', 'model_calls'].every(isMade)) {",
    replace: 'if (![].every(isMade)) {',
    killer: inNode(mistakes, 'with models without their tables is refused'),
  },
  {
    id: 'app-one-mistake-hides-others',
    requirement: null,
    claim: 'A malformed operation hides the mistakes of all others.',
    file: `${src}/declaration/check.ts`,
    find: 'parts[part] = sound;',
    replace: 'delete parts[part];',
    killer: inNode(mistakes, 'with a mistake in one operation is checked in all others'),
  },
  {
    id: 'app-secret-setting-shown',
    requirement: null,
    claim: 'The value of a secret setting is shown.',
    file: `${src}/settings/setting-routes.ts`,
    find: 'value: secret ? null : (value ?? null)',
    replace: 'value: value ?? null',
    killer: inNode(settings, 'the owner sees each setting'),
  },
  {
    id: 'app-settings-for-all',
    requirement: null,
    claim: 'Every member sees the settings of the instance.',
    file: `${src}/settings/setting-routes.ts`,
    find: "await requirePermission(services, c, 'member.manage');",
    replace: '',
    killer: inNode(settings, 'are for those who manage the team'),
  },
  {
    id: 'app-model-usage-for-all',
    requirement: null,
    claim: 'Every member sees the language model of the instance and its limit.',
    file: `${src}/models/usage-routes.ts`,
    find: "await requirePermission(services, c, 'member.manage');",
    replace: '',
    killer: inNode(settings, 'are for those who manage the team'),
  },
];
