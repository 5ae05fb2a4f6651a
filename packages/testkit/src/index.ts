/** Fixtures that the tests of several packages share. Imported by tests alone. */
export { anyCharacter } from './characters.ts';
export { openTestEngine } from './open-test-engine.ts';
export { runs } from './runs.ts';
