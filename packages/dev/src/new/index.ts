/** The scaffold of `freehold new`, by an entry of its own: it loads nothing of the development server. */

export { planProject, type TemplateName } from './plan-project.ts';
export { readTarballs } from './tarballs.ts';
export { writeProject } from './write-project.ts';
