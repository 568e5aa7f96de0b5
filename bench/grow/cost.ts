/** This module is loaded before the program, and writes what its process took when it ends. */
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const file = process.env.COST_FILE;
  if (file !== undefined) writeFileSync(file, JSON.stringify(process.resourceUsage()));
});
