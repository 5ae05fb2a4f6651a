/** `freehold dev`: serves the application in a builder's folder while it is written. Start with `start-dev.ts`. */

export type { ProjectBundle } from './build/bundle-project.ts';
export type { AppLoader, LoadedApp } from './build/loader.ts';
export type { Member } from './instance/people.ts';
export { DevError, type DevErrorCode } from './lib/dev-error.ts';
export { eventText } from './lib/event-text.ts';
export { type DevEvent, type DevPerson, type Fault, placeOf, type Ready } from './lib/events.ts';
export { type MadeMigration, type MigrationRequest, makeMigration } from './migrate/make-migration.ts';
export { type TriedMigrations, tryMigrations } from './migrate/try-migrations.ts';
export type { Seed, SeedTools } from './seed.ts';
export { type Dev, type DevOptions, startDev } from './start-dev.ts';
