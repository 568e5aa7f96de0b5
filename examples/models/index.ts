/**
 * These functions make real architectures with seeded weights and a symbolic batch, as the bytes of ONNX
 * files. The same options give the same bytes.
 */
export { BERT_SIZES, type BertOptions, type BertSize, bert } from './bert.js';
export { bertExported, type ExportedTextOptions, gptExported } from './exported-text.js';
export { type ExportedVitOptions, vitExported } from './exported-vit.js';
export { mobilenetv2 } from './mobilenetv2.js';
export { type ImageOptions, resnet18 } from './resnet18.js';
export { unet } from './unet.js';
